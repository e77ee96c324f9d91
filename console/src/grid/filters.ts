/** Translates the grid's filters and sorts for the service. */
import type { AnyRow, Condition, SortKey } from '../../../clients/typescript/src/index.ts';
import { isArrayType, type ColumnType, type ScalarKind } from '../../../src/language/values/column-type.ts';
import { needOfType, scalarOf, typesOnScreen, textOfType, titleOf, type Column } from '../tables/column-types.ts';
import { exactJson } from './cell-text.ts';
import { numberOfText } from '../ui/number-of-text.ts';
import { isErrorOfType } from '../ui/describe-error.ts';
import type { View } from './rows-reader.ts';

/** How the grid describes the filter of one column: one condition or two. */
export type ColumnFilter = OneFilter | { readonly operator: 'AND' | 'OR'; readonly conditions: readonly OneFilter[] };

interface OneFilter {
  readonly type?: string | null;
  readonly filter?: string | null;
}

interface FilterOption {
  readonly displayKey: string;
  readonly displayName: string;
  readonly numberOfInputs?: 0;
  /** The grid requires one, but the service filters. */
  readonly predicate: () => true;
}

const option = (displayKey: string, displayName: string): FilterOption => ({
  displayKey,
  displayName,
  predicate: () => true,
});
const withoutInput = (displayKey: string, displayName: string): FilterOption => ({
  ...option(displayKey, displayName),
  numberOfInputs: 0,
});

const equality = [option('eq', 'Equals'), option('ne', 'Does not equal')];
const emptiness = [withoutInput('isEmpty', 'Is empty'), withoutInput('isNotEmpty', 'Is not empty')];
const texts = [
  option('contains', 'Contains'),
  option('notContains', 'Does not contain'),
  option('startsWith', 'Begins with'),
  option('endsWith', 'Ends with'),
];
const order = (less: string, more: string): FilterOption[] => [
  option('lt', less),
  option('lte', `${less} or equal`),
  option('gt', more),
  option('gte', `${more} or equal`),
];
const truth = [withoutInput('isTrue', 'Is true'), withoutInput('isFalse', 'Is false')];
const has = [option('has', 'Has')];

const optionsOf: Readonly<Record<(typeof typesOnScreen)[ScalarKind]['filters'], readonly (FilterOption | 'empty')[]>> =
  {
    texts: [...texts, ...equality],
    numbers: [...equality, ...order('Less', 'More')],
    moments: [...equality, ...order('Before', 'After')],
    // The grid reports only changes, so no option may be chosen at first.
    truth: ['empty', ...truth],
    equality,
  };

/** The filter options of a column, by its type. */
export function filterOptionsOf(type: ColumnType): readonly (FilterOption | 'empty')[] {
  return [...(isArrayType(type) ? has : optionsOf[typesOnScreen[type].filters]), ...emptiness];
}

/** Whether rows can be sorted by a column of this type. */
export function isSortable(type: ColumnType): boolean {
  return !isArrayType(type) && typesOnScreen[type].isSortable;
}

/**
 * The sort key of a column. A minus before the ID means descending, so an ID that begins with a minus needs an object.
 */
function sortKeyOf(column: string, descending: boolean): string | SortKey<string> {
  if (column.startsWith('-')) return { column, descending };
  return descending ? `-${column}` : column;
}

/** The query for the filters and sorts of the grid. */
export function viewOf(
  columns: readonly Column[],
  filters: Readonly<Record<string, ColumnFilter>>,
  sorts: readonly { readonly colId: string; readonly sort: string }[],
): View {
  const conditions = Object.entries(filters).flatMap(([id, filter]) => {
    const column = columns.find((each) => each.id === id);
    return column === undefined ? [] : [conditionOf(column, filter)];
  });
  const [first] = conditions;
  return {
    ...(first !== undefined && { filter: conditions.length === 1 ? first : { and: conditions } }),
    ...(sorts.length > 0 && { sort: sorts.map(({ colId, sort }) => sortKeyOf(colId, sort === 'desc')) }),
  };
}

function conditionOf(column: Column, filter: ColumnFilter): Condition<AnyRow> {
  if (!('operator' in filter)) return comparisonOf(column, filter);
  const conditions = filter.conditions.map((each) => comparisonOf(column, each));
  return filter.operator === 'AND' ? { and: conditions } : { or: conditions };
}

function comparisonOf({ id: column, type }: Column, { type: op, filter }: OneFilter): Condition<AnyRow> {
  const kind = textOfType(type);
  const value = valueOf(kind, filter ?? '');
  switch (op) {
    case 'isEmpty':
    case 'isNotEmpty':
      return { column, op };
    case 'isTrue':
      return { column, op: 'eq', value: true };
    case 'isFalse':
      return { column, op: 'eq', value: false };
    case 'notContains':
      return { not: { column, op: 'contains', value, ignoreCase: true } };
    case 'contains':
    case 'startsWith':
    case 'endsWith':
      return { column, op, value, ignoreCase: true };
    default:
      return { column, op: op as 'eq', value };
  }
}

/**
 * What to do about a filter that the service refused because the value does not fit the column; null for any other
 * error.
 */
export function describeMisfit(error: unknown, columns: readonly Column[]): string | null {
  if (!isErrorOfType(error, 'column_has_invalid_value')) return null;
  const id = /^filter\b.* \(column (".*")\)$/s.exec((error as Error).message)?.[1];
  const column = id === undefined ? undefined : columns.find((each) => each.id === JSON.parse(id));
  if (column === undefined) return null;
  const type = textOfType(column.type);
  return `${titleOf(column)} needs ${needOfType(type)}.`;
}

/** Why a filter has no exact value. Null if all have one, and for texts that the service refuses with a reason. */
export function describeInexact(
  columns: readonly Column[],
  filters: Readonly<Record<string, ColumnFilter>>,
): string | null {
  for (const column of columns) {
    const filter = filters[column.id];
    const type = textOfType(column.type);
    for (const { filter: text } of filter === undefined ? [] : 'operator' in filter ? filter.conditions : [filter]) {
      const reason = reasonOf(scalarOf(type), text ?? '');
      if (reason !== null) return `${titleOf(column)} needs ${needOfType(type)}. ${reason}`;
    }
  }
  return null;
}

function reasonOf(scalar: ScalarKind, text: string): string | null {
  try {
    exactValueOf(scalar, text);
    return null;
  } catch (error) {
    const { message } = error as Error;
    return message === `${text} is not a number.` ? null : message;
  }
}

/**
 * The typed text as a value of the column. If the text is no such value, it is sent as it is, and the service says why
 * it does not fit.
 */
function valueOf(type: ColumnType, text: string): unknown {
  try {
    return exactValueOf(scalarOf(type), text);
  } catch {
    return text;
  }
}

/** Throws an Error for a text that is not a number, and for a number that would change. */
function exactValueOf(scalar: ScalarKind, text: string): unknown {
  switch (typesOnScreen[scalar].reads) {
    case 'number':
      return text === '' ? text : numberOfText(text);
    case 'boolean':
    case 'json':
      return isJson(text) ? exactJson(text) : text;
    case 'text':
      return text;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
