/**
 * Declares types of events, each once, with its fields. The declaration determines how the event is written and read,
 * its cost, the processes that can read it, and the things that it names (docs/decisions/0071).
 */
import { decodeProfile, encodeProfile, type EncodedProfile } from '../values/profile-codec.ts';
import type { Profile } from '../values/profile.ts';
import { languageOfRule } from '../values/rule.ts';
import { costOfProfile } from './cost-of-rows.ts';
import type { RowAddress } from './row-id.ts';
import {
  costOfSource,
  profileIn,
  rowSourceFromWire as sourceFromWire,
  rowSourceToWire as sourceToWire,
  type RowSource,
} from './row-source.ts';

/** The kind of thing that a field names, for models that look it up and for the list of jobs. */
export type Role =
  | 'base'
  | 'team'
  | 'token'
  | 'table'
  | 'newTable'
  | 'row'
  | 'upload'
  | 'stash'
  | 'body'
  | 'rows'
  | 'profile';

/**
 * A field of an event. Its values are stored as JSON in the log: unchanged, unless `toWire` and `fromWire` convert
 * them.
 */
export interface Field<T> {
  readonly toWire?: (value: T) => unknown;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly fromWire?: (wire: any) => T;
  readonly role?: Role;
  /** Upper bound for the cost of the work that the value causes, besides its bytes (cost.ts). */
  readonly cost?: (value: T) => number;
  /** The language that the value needs, if that may be newer than the language of its event (language.ts). */
  readonly language?: (value: T) => number;
  /** The value for events from before the field existed. */
  readonly absent?: T;
  readonly isOptional?: boolean;
}

/** A field that some events do not have. */
interface OptionalField<T> extends Field<T> {
  readonly isOptional: true;
}

// oxlint-disable-next-line typescript/no-explicit-any
export type Fields = Readonly<Record<string, Field<any>>>;

type ValueOf<F> = F extends Field<infer T> ? T : never;
type OptionalKeys<F extends Fields> = {
  [K in keyof F]: F[K] extends { readonly isOptional: true } ? K : never;
}[keyof F];

/** The content of an event with these fields. */
export type DataOf<Type extends string, F extends Fields> = { readonly type: Type } & {
  readonly [K in Exclude<keyof F, OptionalKeys<F>>]: ValueOf<F[K]>;
} & { readonly [K in OptionalKeys<F>]?: ValueOf<F[K]> };

export interface EventDefinition<Type extends string = string, F extends Fields = Fields> {
  readonly type: Type;
  /** The language in which the type first appeared (language.ts). */
  readonly language: number;
  readonly fields: F;
  /** The cost of the event besides its bytes, if it is not the sum over the fields. */
  readonly cost?: (data: DataOf<Type, F>) => number;
}

/** Declares a type of event. */
export function defineEvent<const Type extends string, F extends Fields>(
  definition: EventDefinition<Type, F>,
): EventDefinition<Type, F> {
  return definition;
}

/** A value that JSON can hold unchanged. */
export function json<T>(options: Pick<Field<T>, 'absent' | 'role'> = {}): Field<T> {
  return options;
}

/** A field that may be left out. */
export function optional<T>(field: Field<T>): OptionalField<T> {
  return { ...field, isOptional: true };
}

const versionCodec = { toWire: String, fromWire: (wire: string): bigint => BigInt(wire) };

/** A version, or the base of versions: a decimal number in a string, because JSON numbers have 53 bits. */
export const version: Field<bigint> = versionCodec;
/** The version in `If-Match`; null: the request had none. */
export const ifMatch: Field<bigint | null> = {
  toWire: (value) => (value === null ? null : String(value)),
  fromWire: (wire: string | null) => (wire === null ? null : BigInt(wire)),
};
/** From this event on, the version of an event is at least this plus its offset. */
export const base: Field<bigint> = { ...versionCodec, role: 'base' };

export const team: Field<string> = json({ role: 'team' });
export const token: Field<string> = json({ role: 'token' });
export const table: Field<string> = json({ role: 'table' });
/** The table that the event creates. */
export const newTable: Field<string> = json({ role: 'newTable' });
export const upload: Field<string> = json({ role: 'upload' });
/** The name of a stash (stash-name.ts). */
export const stash: Field<string> = json({ role: 'stash' });
/** A body of several blocks. */
export const body: Field<string> = json({ role: 'body' });

export const row: Field<RowAddress> = {
  role: 'row',
  toWire: (address) => ({ ...address, version: String(address.version) }),
  fromWire: (wire) => ({ ...wire, version: BigInt(wire.version) }) as RowAddress,
};

/** The profile of the rows in the event's body. */
export const profile: Field<Profile> = {
  role: 'profile',
  toWire: encodeProfile,
  fromWire: (wire: EncodedProfile) => decodeProfile(wire),
  cost: (value) => costOfProfile(value, false),
  language: (value) => languageOfRule(value.rule),
};

/** The location of the request's rows. */
export const rows: Field<RowSource> = rowsFrom();
/** The location of the request's rows, which are in no stash. */
export const rowsOutsideStashes: Field<Exclude<RowSource, { readonly kind: 'stash' }>> = rowsFrom();

function rowsFrom<Source extends RowSource>(): Field<Source> {
  return {
    role: 'rows',
    toWire: sourceToWire,
    fromWire: (wire) => sourceFromWire(wire) as Source,
    cost: costOfSource,
    language: (source) => languageOfRule(profileIn(source)?.rule ?? 1),
  };
}
