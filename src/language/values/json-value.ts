/**
 * Classifies a JSON value: the types that it fits, its natural type, and how it is stored (docs/spec/decisions.md 2,
 * "Types" and "Inference"; 6 for `[]`, null in arrays and arrays in arrays).
 */
import { arrayOf, arraysOfTypes, arrayTypes, itemTypesIn, scalarTypesWith, typeBit } from './column-type.ts';
import type { ColumnType, ScalarKind, TypeSet } from './column-type.ts';
import { decodeString, elementsOf, hasOnlyExactNumbers, isExactNumber } from './json-text.ts';
import { leastUpperBound } from './lattice.ts';
import { storedAs } from './profile.ts';
import { everyStringTypes, naturalOfString, stringTypes } from './string-types.ts';

export interface Classified {
  /** The candidates that the value fits. */
  readonly fits: TypeSet;
  /** Null for an empty array. */
  readonly natural: ColumnType | null;
  /** One bit of `storedAs`, and perhaps `bigInteger`. */
  readonly stored: number;
}

/** Types that an exact number fits. */
export const numberTypes: TypeSet = scalarTypesWith(({ json }) => json === 'number') | everyStringTypes;
/** Types that hold an integer that a double cannot hold, as its text. */
const bigIntegerTypes: TypeSet = everyStringTypes;
/** Types that `true` and `false` fit. */
export const booleanTypes: TypeSet = scalarTypesWith(({ json }) => json === 'boolean') | everyStringTypes;

const json = typeBit('json');
const arrayOfJson = typeBit('array<json>');

/**
 * Classifies a value.
 * @param token the value's exact text: valid JSON, not `null`
 * @param candidates the types to test ; fewer cost less
 */
export function classify(token: string, candidates: TypeSet): Classified {
  switch (token.charCodeAt(0)) {
    case 34:
      return classifyString(decodeString(token), candidates);
    case 91:
      return classifyArray(token, candidates);
    case 123:
      return classifyNested(token, json & candidates, storedAs.object);
    case 116:
    case 102:
      return { fits: candidates & booleanTypes, natural: 'boolean', stored: storedAs.boolean };
    default:
      return classifyNumber(token, candidates);
  }
}

/** Classifies a decoded string. */
export function classifyString(text: string, candidates: TypeSet): Classified {
  return { fits: stringTypes(text, candidates), natural: naturalOfString(text), stored: storedAs.string };
}

function classifyNumber(token: string, candidates: TypeSet): Classified {
  if (!isExactNumber(token))
    return { fits: candidates & bigIntegerTypes, natural: 'string', stored: storedAs.number | storedAs.bigInteger };
  return { fits: candidates & numberTypes, natural: 'number', stored: storedAs.number };
}

/** A value whose natural type is `json`. */
function classifyNested(token: string, fits: TypeSet, stored: number): Classified {
  return { fits, natural: 'json', stored: hasOnlyExactNumbers(token) ? stored : stored | storedAs.bigInteger };
}

function classifyArray(token: string, candidates: TypeSet): Classified {
  const elements = elementsOf(token);
  if (elements.length === 0) {
    return { fits: candidates & (arrayTypes | json), natural: null, stored: storedAs.emptyArray };
  }
  if (elements.includes('null')) return classifyNested(token, candidates & json, storedAs.otherArray);
  if (elements.some(isNested)) return classifyNested(token, candidates & (arrayOfJson | json), storedAs.otherArray);

  let itemFits = itemTypesIn(candidates);
  let natural: ScalarKind | null = null;
  let stored = 0;
  for (const element of elements) {
    const item = classify(element, itemFits);
    itemFits &= item.fits;
    // The natural types of scalars, and their least upper bound, are scalars.
    natural = (natural === null ? item.natural : leastUpperBound(natural, item.natural!)) as ScalarKind;
    stored |= item.stored;
  }
  return {
    fits: arraysOfTypes(itemFits) | (candidates & json),
    natural: arrayOf(natural!),
    stored: storedArray(stored),
  };
}

function isNested(token: string): boolean {
  return token[0] === '[' || token[0] === '{';
}

/** How an array is stored. `elements`: the bits of its scalar elements. */
function storedArray(elements: number): number {
  const big = elements & storedAs.bigInteger;
  return big | storedArrayOf(elements & ~big);
}

function storedArrayOf(elements: number): number {
  if (elements === storedAs.string) return storedAs.stringArray;
  if (elements === storedAs.number) return storedAs.numberArray;
  if (elements === storedAs.boolean) return storedAs.booleanArray;
  return storedAs.otherArray;
}
