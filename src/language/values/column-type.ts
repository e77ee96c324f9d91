/**
 * The column types of the interface (spec section 2), and sets of them as bit masks.
 *
 * Inside the service a type has one name: the scalar's own, or `array<scalar>`. Only the HTTP edge knows the three
 * spellings that clients may use.
 */
import { decodeString } from './json-text.ts';
import { daysOf, microsecondsOfDay, microsecondsSince1970 } from './moments.ts';
import { isEmailAddress, isEmoji, isPhoneNumber, isUri } from './scan-text.ts';
import { isDate, isDateTime, isDuration, isTime } from './scan-time.ts';

/**
 * The scalar types, in the order of their bits in sets. Events store these bits (`profile-codec.ts`), so the order
 * never changes.
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

/** What values of a scalar type are, and how they compare (docs/spec/decisions.md 2 and 6, docs/spec/queries.md). */
interface ScalarTraits {
  /** The JSON that presents a value. `any`: as it was sent. */
  readonly json: 'string' | 'number' | 'boolean' | 'any';
  /** The strings that fit. */
  readonly strings: 'all' | 'none' | ((text: string) => boolean);
  /** All wider scalar types but `json`, which is wider than every type. */
  readonly wider: readonly ScalarKind[];
  /**
   * A text that is equal for two presented values exactly if filters find them equal. Keys of rows are compared by it;
   * they have no `json`.
   */
  readonly compared: (token: string) => string;
}

const text = { json: 'string', strings: 'all', wider: ['string'], compared: decodeString } as const;

/** What each scalar type is. Most code reads this table and names no type. */
export const scalarTraits: Readonly<Record<ScalarKind, ScalarTraits>> = {
  string: { ...text, wider: [] },
  uri: { ...text, strings: isUri },
  imageURI: { ...text, strings: isUri, wider: ['uri', 'string'] },
  audioURI: { ...text, strings: isUri, wider: ['uri', 'string'] },
  markdown: text,
  phoneNumber: { ...text, strings: isPhoneNumber },
  emailAddress: { ...text, strings: isEmailAddress },
  emoji: { ...text, strings: isEmoji },
  date: {
    ...text,
    strings: isDate,
    wider: ['dateTime', 'string'],
    compared: (token) => String(daysOf(decodeString(token))),
  },
  time: { ...text, strings: isTime, compared: (token) => String(microsecondsOfDay(decodeString(token))) },
  dateTime: { ...text, strings: isDateTime, compared: (token) => String(microsecondsSince1970(decodeString(token))) },
  duration: { ...text, strings: isDuration },
  number: {
    json: 'number',
    strings: 'none',
    wider: ['string'],
    // -0 equals 0.
    compared: (token) => String((JSON.parse(token) as number) + 0),
  },
  boolean: { json: 'boolean', strings: 'none', wider: ['string'], compared: (token) => token },
  json: { json: 'any', strings: 'all', wider: [], compared: (token) => token },
};

type ArrayType = `array<${ScalarKind}>`;
export type ColumnType = ScalarKind | ArrayType;

/** All types in bit order: the scalars, then their arrays. */
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

/** Whether every JSON string fits this type. */
export function takesEveryString(type: ColumnType): boolean {
  return !isArrayType(type) && scalarTraits[type].strings === 'all';
}

/** Whether every string and every cell fits this scalar type. */
export function isTextKind(kind: ScalarKind): boolean {
  const { json, strings } = scalarTraits[kind];
  return json === 'string' && strings === 'all';
}

/** The set of the scalar types for which this holds. */
export function scalarTypesWith(holds: (traits: ScalarTraits) => boolean): TypeSet {
  return typeSet(...scalarKinds.filter((kind) => holds(scalarTraits[kind])));
}

const scalarCount = scalarKinds.length;

export const noTypes: TypeSet = 0;
export const scalarTypes: TypeSet = (1 << scalarCount) - 1;
export const arrayTypes: TypeSet = scalarTypes << scalarCount;
export const allTypes: TypeSet = scalarTypes | arrayTypes;

/** The item types of the array types in the set. */
export function itemTypesIn(types: TypeSet): TypeSet {
  return (types >>> scalarCount) & scalarTypes;
}

/** The array types whose items have these scalar types. */
export function arraysOfTypes(scalars: TypeSet): TypeSet {
  return scalars << scalarCount;
}

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
