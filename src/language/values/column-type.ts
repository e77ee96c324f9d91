/**
 * The column types of the interface (spec section 2), and sets of them as bit masks.
 *
 * Inside the service a type has one name: the scalar's own, or `array<scalar>`. Only the HTTP edge knows the three
 * spellings that clients may use.
 */

export const scalarKinds = [
  'string',
  'uri',
  'imageURI',
  'audioURI',
  'markdown',
  'phoneNumber',
  'emailAddress',
  'emoji',
  'date',
  'time',
  'dateTime',
  'duration',
  'number',
  'boolean',
  'json',
] as const;

export type ScalarKind = (typeof scalarKinds)[number];
type ArrayType = `array<${ScalarKind}>`;
export type ColumnType = ScalarKind | ArrayType;

/** All types in bit order: the 15 scalars are bits 0 to 14, their arrays bits 15 to 29. */
export const columnTypes: readonly ColumnType[] = [
  ...scalarKinds,
  ...scalarKinds.map((kind): ArrayType => `array<${kind}>`),
];

/** A set of types: bit n is `columnTypes[n]`. Thirty bits fit a small integer of the JavaScript engine. */
export type TypeSet = number;

const bits = new Map<ColumnType, number>(columnTypes.map((type, bit) => [type, 1 << bit]));

/** The set that holds `type` alone. */
export function typeBit(type: ColumnType): TypeSet {
  return bits.get(type)!;
}

/** The set of these types. */
export function typeSet(...types: readonly ColumnType[]): TypeSet {
  return types.reduce((set, type) => set | typeBit(type), 0);
}

export const noTypes: TypeSet = 0;
export const scalarTypes: TypeSet = (1 << 15) - 1;
export const arrayTypes: TypeSet = scalarTypes << 15;
export const allTypes: TypeSet = scalarTypes | arrayTypes;

export function isArrayType(type: ColumnType): type is ArrayType {
  return type.startsWith('array<');
}

/** The item type of an array type. */
export function itemKind(type: ArrayType): ScalarKind {
  return type.slice('array<'.length, -1) as ScalarKind;
}

export function arrayOf(kind: ScalarKind): ArrayType {
  return `array<${kind}>`;
}
