/** Classifies strings: the scalar types that a text fits, and its natural type (docs/spec/decisions.md 2, "Types"). */
import { noTypes, scalarKinds, scalarTraits, scalarTypesWith, typeBit } from './column-type.ts';
import type { ColumnType, ScalarKind, TypeSet } from './column-type.ts';
import { isDate, isSpelledDateTime } from './scan-time.ts';

/** Types that every string fits. */
export const everyStringTypes: TypeSet = scalarTypesWith(({ strings }) => strings === 'all');

/** The types that depend on the text, by their scanner: a text is scanned once for all types that share one. */
const scanned = scannersOf(scalarKinds);

function scannersOf(
  kinds: readonly ScalarKind[],
): { readonly types: TypeSet; readonly fits: (text: string) => boolean }[] {
  const typesOf = new Map<(text: string) => boolean, TypeSet>();
  for (const kind of kinds) {
    const { strings } = scalarTraits[kind];
    if (typeof strings === 'function') typesOf.set(strings, (typesOf.get(strings) ?? noTypes) | typeBit(kind));
  }
  return Array.from(typesOf, ([fits, types]) => ({ types, fits }));
}

const allScanned = scanned.reduce((set, { types }) => set | types, 0);

/** Types that every cell of CSV fits. A `json` takes only cells that are JSON. */
export const everyCellTypes: TypeSet = scalarTypesWith(({ json, strings }) => json === 'string' && strings === 'all');

/** The types that are presented as a JSON string. */
export const stringLikeTypes: TypeSet = scalarTypesWith(({ json }) => json === 'string');

/**
 * The `candidates` that a decoded JSON string fits. Tests only scalar types; a type that is no candidate costs nothing.
 */
export function stringTypes(text: string, candidates: TypeSet): TypeSet {
  let fits = candidates & everyStringTypes;
  if ((candidates & allScanned) === 0) return fits;
  for (const scanner of scanned) {
    if ((candidates & scanner.types) !== 0 && scanner.fits(text)) fits |= candidates & scanner.types;
  }
  return fits;
}

/** The natural type of a string. A date and time in the basic form is naturally a string. */
export function naturalOfString(text: string): Extract<ScalarKind, 'date' | 'dateTime' | 'string'> {
  if (!isSpelledDateTime(text)) return 'string';
  return isDate(text) ? 'date' : 'dateTime';
}

const aboveStrings: ReadonlySet<ColumnType | null> = new Set(['string', 'array<string>', 'array<json>', 'json']);

/**
 * Whether no further string can change this natural type, so that the natural types of strings need not be determined.
 */
export function isSettledForStrings(natural: ColumnType | null): boolean {
  return aboveStrings.has(natural);
}
