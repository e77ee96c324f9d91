/** Column types, as the console shows, reads and filters their values. */
import type { ColumnType as TypeOfColumn, NewColumn, TableDescription } from '../../../clients/typescript/src/index.ts';
import {
  arrayOf,
  isArrayType,
  itemKind,
  type ColumnType,
  type ScalarKind,
} from '../../../src/language/values/column-type.ts';

export type Column = TableDescription['schema']['columns'][number];

/** How to write a value, for messages: `a date, such as 2024-03-01`. */
interface TypeForm {
  readonly article: 'a' | 'an' | null;
  readonly name: string;
  readonly example: string | null;
}

interface ScalarType {
  /** Null: every text fits. */
  readonly form: TypeForm | null;
  /** What a typed text is read as. */
  readonly reads: 'text' | 'number' | 'boolean' | 'json';
  readonly editor: 'line' | 'lines' | 'choice' | 'date';
  readonly shows: 'text' | 'code' | 'picture';
  /** Where a value leads to; null: nowhere. */
  readonly link: 'web' | 'mail' | 'phone' | null;
  /** Which filters there are besides those for empty cells. */
  readonly filters: 'texts' | 'numbers' | 'moments' | 'truth' | 'equality';
  readonly isSortable: boolean;
}

const text = { reads: 'text', editor: 'line', shows: 'text', link: null, filters: 'texts', isSortable: true } as const;
const moment = { ...text, filters: 'moments' } as const;
const address = { ...text, link: 'web' } as const;

/** All scalar types, in the order of menus. */
export const typesOnScreen: Readonly<Record<ScalarKind, ScalarType>> = {
  string: { ...text, form: null },
  number: { ...text, form: { article: 'a', name: 'number', example: null }, reads: 'number', filters: 'numbers' },
  boolean: {
    ...text,
    form: { article: null, name: 'true or false', example: null },
    reads: 'boolean',
    editor: 'choice',
    filters: 'truth',
  },
  date: { ...moment, form: { article: 'a', name: 'date', example: '2024-03-01' }, editor: 'date' },
  time: { ...moment, form: { article: 'a', name: 'time', example: '10:30' } },
  dateTime: { ...moment, form: { article: 'a', name: 'date with a time', example: '2024-03-01T10:30:00Z' } },
  duration: {
    ...text,
    form: { article: 'a', name: 'duration', example: 'P1D' },
    filters: 'equality',
    isSortable: false,
  },
  uri: { ...address, form: { article: 'an', name: 'address', example: 'https://example.org' } },
  imageURI: {
    ...address,
    form: { article: 'an', name: 'address', example: 'https://example.org/a.png' },
    shows: 'picture',
  },
  audioURI: { ...address, form: { article: 'an', name: 'address', example: 'https://example.org/a.mp3' } },
  emailAddress: { ...text, form: { article: 'an', name: 'e-mail address', example: null }, link: 'mail' },
  phoneNumber: { ...text, form: { article: 'a', name: 'phone number', example: null }, link: 'phone' },
  emoji: { ...text, form: { article: 'an', name: 'emoji', example: null } },
  markdown: { ...text, form: null, editor: 'lines' },
  json: {
    ...text,
    form: { article: null, name: 'JSON', example: '{"a":1} or "text"' },
    reads: 'json',
    editor: 'lines',
    shows: 'code',
    filters: 'equality',
    isSortable: false,
  },
};

const scalars = Object.keys(typesOnScreen) as ScalarKind[];

/** All types, in the order of menus. */
export const columnTypes: readonly ColumnType[] = [...scalars, ...scalars.map(arrayOf)];

/** The type as text: `number`, `array<number>`. */
export function textOfType(type: TypeOfColumn): ColumnType {
  if (typeof type === 'string') return type as ColumnType;
  return (type.kind === 'array' ? arrayOf(type.items.kind as ScalarKind) : type.kind) as ColumnType;
}

/** The inverse of `textOfType`. */
export function typeOfText(type: ColumnType): NewColumn['type'] {
  return isArrayType(type) ? { kind: 'array', items: { kind: itemKind(type) } } : type;
}

/** The type of the values, or of their items if they are lists. */
export function scalarOf(type: ColumnType): ScalarKind {
  return isArrayType(type) ? itemKind(type) : type;
}

/** The name of a type for sentences. */
export function nameOfType(type: ColumnType): string {
  return type === 'string' ? 'text' : type;
}

/** A phrase for what a value, or an item of a list, must be: `a date, such as 2024-03-01`. */
export function needOfType(type: ColumnType): string {
  const { form } = typesOnScreen[scalarOf(type)];
  if (form === null) return `a value of the type ${type}`;
  return `${form.article === null ? '' : `${form.article} `}${form.name}${form.example === null ? '' : `, such as ${form.example}`}`;
}

/** The title of a column on the screen. */
export function titleOf({ id, displayName }: Column): string {
  return displayName ?? id;
}
