/** Profiles as compact JSON arrays: about 60 to 100 bytes for a usual column. */
import { columnTypes } from './column-type.ts';
import type { ColumnProfile, Misfit, Profile } from './profile.ts';
import type { Rule } from './rule.ts';

/** row, position, types, wrapped, value */
type EncodedMisfit = readonly [number, number, number, number, string];

/** ID, row and position of `first`, index of the natural type in `columnTypes` (-1 for none), stored, misfits */
type EncodedColumn = readonly [string, number, number, number, number, readonly EncodedMisfit[]];

/** rows, bytes, rowBytesMax, columns, rule (absent: 1) */
export type EncodedProfile = readonly [number, number, number, readonly EncodedColumn[], Rule?];

export function encodeProfile(profile: Profile): EncodedProfile {
  return [profile.rows, profile.bytes, profile.rowBytesMax, profile.columns.map(encodeColumn), profile.rule];
}

/** The profile as a text without line breaks. */
export function profileText(profile: Profile): string {
  return JSON.stringify(encodeProfile(profile));
}

export function parseProfile(text: string): Profile {
  return decodeProfile(JSON.parse(text) as EncodedProfile);
}

export function decodeProfile([rows, bytes, rowBytesMax, columns, rule = 1]: EncodedProfile): Profile {
  return { rows, bytes, rowBytesMax, columns: columns.map(decodeColumn), rule };
}

function encodeColumn({ id, first, natural, stored, misfits }: ColumnProfile): EncodedColumn {
  const naturalBit = natural === null ? -1 : columnTypes.indexOf(natural);
  return [id, first.row, first.position, naturalBit, stored, misfits.map(encodeMisfit)];
}

function encodeMisfit({ row, position, types, wrapped, value }: Misfit): EncodedMisfit {
  return [row, position, types, wrapped, value];
}

function decodeColumn([id, row, position, naturalBit, stored, misfits]: EncodedColumn): ColumnProfile {
  const natural = columnTypes[naturalBit] ?? null;
  return { id, first: { row, position }, natural, stored, misfits: misfits.map(decodeMisfit) };
}

function decodeMisfit([row, position, types, wrapped, value]: EncodedMisfit): Misfit {
  return { row, position, types, wrapped, value };
}
