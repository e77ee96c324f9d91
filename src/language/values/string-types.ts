/** Classifies strings: the scalar types that a text fits, and its natural type (docs/spec/decisions.md 2, "Types"). */
import { typeBit, typeSet } from './column-type.ts';
import type { ColumnType, ScalarKind, TypeSet } from './column-type.ts';
import { isEmailAddress, isEmoji, isPhoneNumber, isUri } from './scan-text.ts';
import { isDate, isDateTime, isDuration, isSpelledDateTime, isTime } from './scan-time.ts';

/** Types that every string fits. */
const everyString = typeSet('string', 'markdown', 'json');

/** The types that depend on the text, each with its scanner. */
const scanned: readonly { readonly types: TypeSet; readonly fits: (text: string) => boolean }[] = [
  { types: typeSet('uri', 'imageURI', 'audioURI'), fits: isUri },
  { types: typeBit('phoneNumber'), fits: isPhoneNumber },
  { types: typeBit('emailAddress'), fits: isEmailAddress },
  { types: typeBit('emoji'), fits: isEmoji },
  { types: typeBit('date'), fits: isDate },
  { types: typeBit('time'), fits: isTime },
  { types: typeBit('dateTime'), fits: isDateTime },
  { types: typeBit('duration'), fits: isDuration },
];

const allScanned = scanned.reduce((set, { types }) => set | types, 0);

/** The types that are presented as a JSON string. */
export const stringLikeTypes: TypeSet = allScanned | typeSet('string', 'markdown');

/**
 * The `candidates` that a decoded JSON string fits. Tests only scalar types; a type that is no candidate costs nothing.
 */
export function stringTypes(text: string, candidates: TypeSet): TypeSet {
  let fits = candidates & everyString;
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
