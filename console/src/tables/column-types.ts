/** Types of columns as text: `number`, `array<number>`. */
import type { ColumnType, NewColumn, TableDescription } from '../../../clients/typescript/src/index.ts';

export type Column = TableDescription['schema']['columns'][number];

const scalars = [
  'string',
  'number',
  'boolean',
  'date',
  'time',
  'dateTime',
  'duration',
  'uri',
  'imageURI',
  'audioURI',
  'emailAddress',
  'phoneNumber',
  'emoji',
  'markdown',
  'json',
] as const;

export const columnTypes: readonly string[] = [...scalars, ...scalars.map((scalar) => `array<${scalar}>`)];

export function textOfType(type: ColumnType): string {
  if (typeof type === 'string') return type;
  return type.kind === 'array'
    ? `array<${(type as { readonly items: { readonly kind: string } }).items.kind}>`
    : type.kind;
}

/** The inverse of `textOfType`. */
export function typeOfText(text: string): NewColumn['type'] {
  const item = /^array<(.*)>$/.exec(text)?.[1];
  return (item === undefined ? text : { kind: 'array', items: { kind: item } }) as NewColumn['type'];
}

/** The name of a type for sentences. */
export function nameOfType(text: string): string {
  return text === 'string' ? 'text' : text;
}

/** The title of a column on the screen. */
export function titleOf({ id, displayName }: Column): string {
  return displayName ?? id;
}
