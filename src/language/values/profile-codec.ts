/** Profiles as compact JSON arrays: about 60 to 100 bytes for a usual column. */
import { columnTypes } from './column-type.ts';
import type { CellCount, ColumnProfile, Misfit, Profile } from './profile.ts';
import { isKnownRule } from './rule.ts';
import type { Rule } from './rule.ts';

/** row, position, types, wrapped, value */
type EncodedMisfit = readonly [number, number, number, number, string];

/**
 * ID, row and position of `first`, index of the natural type in `columnTypes` (-1 for none), stored, misfits, counts
 */
type EncodedColumn = readonly [
  string,
  number,
  number,
  number,
  number,
  readonly EncodedMisfit[],
  (readonly CellCount[])?,
];

/** rows, bytes, rowBytesMax, columns, rule (absent: 1), dropped (null: `isUncounted`) */
export type EncodedProfile = readonly [number, number, number, readonly EncodedColumn[], Rule?, (number | null)?];

export function encodeProfile(profile: Profile): EncodedProfile {
  const encoded = [
    profile.rows,
    profile.bytes,
    profile.rowBytesMax,
    profile.columns.map(encodeColumn),
    profile.rule,
  ] as const;
  if (profile.isUncounted === true) return [...encoded, null];
  return profile.dropped === undefined ? encoded : [...encoded, profile.dropped];
}

/** The profile as a text without line breaks. */
export function profileText(profile: Profile): string {
  return JSON.stringify(encodeProfile(profile));
}

export function parseProfile(text: string): Profile {
  return decodeProfile(JSON.parse(text) as EncodedProfile);
}

/** Throws for a rule of a newer version, because no other rule may read these rows. */
export function decodeProfile([rows, bytes, rowBytesMax, columns, rule = 1, dropped]: EncodedProfile): Profile {
  if (!isKnownRule(rule)) throw new Error(`rows by the unknown rule ${rule}: only a newer version can read them`);
  const counted = dropped === undefined ? {} : dropped === null ? { isUncounted: true as const } : { dropped };
  return { rows, bytes, rowBytesMax, columns: columns.map(decodeColumn), rule, ...counted };
}

function encodeColumn({ id, first, natural, stored, misfits, counts }: ColumnProfile): EncodedColumn {
  const naturalBit = natural === null ? -1 : columnTypes.indexOf(natural);
  const encoded = [id, first.row, first.position, naturalBit, stored, misfits.map(encodeMisfit)] as const;
  return counts === undefined ? encoded : [...encoded, counts];
}

function encodeMisfit({ row, position, types, wrapped, value }: Misfit): EncodedMisfit {
  return [row, position, types, wrapped, value];
}

function decodeColumn([id, row, position, naturalBit, stored, misfits, counts]: EncodedColumn): ColumnProfile {
  const natural = columnTypes[naturalBit] ?? null;
  return {
    id,
    first: { row, position },
    natural,
    stored,
    misfits: misfits.map(decodeMisfit),
    ...(counts === undefined ? {} : { counts }),
  };
}

function decodeMisfit([row, position, types, wrapped, value]: EncodedMisfit): Misfit {
  return { row, position, types, wrapped, value };
}
