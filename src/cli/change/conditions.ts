/** `--where` and `--set`: conditions and values as texts, which the types of the columns turn into JSON. */
import { InvalidArgumentError } from 'commander';
import type { AnyRow, Column, Condition } from '../../../clients/typescript/src/index.ts';
import { parseExactly } from '../../language/formats/exact-json.ts';
import { scalarTraits, type ScalarKind } from '../../language/values/column-type.ts';

/** A condition of `--where`: a comparison, whose value is still a text, or a filter as the service takes it. */
export type Where =
  | { readonly column: string; readonly op: ComparisonOp; readonly text: string }
  | { readonly filter: Condition<AnyRow> };

/** An assignment of `--set`: a value that is still a text, or values as the service takes them. */
export type Assignment = { readonly column: string; readonly text: string } | { readonly values: AnyRow };

const ops = { '=': 'eq', '!=': 'ne', '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' } as const;
type ComparisonOp = (typeof ops)[keyof typeof ops];

/** Parses a `--where`, and adds it to those before. A text that begins with a brace is a filter in JSON. */
export function addWhere(text: string, before: readonly Where[] = []): readonly Where[] {
  if (text.trimStart().startsWith('{')) return [...before, { filter: parseObject(text) as Condition<AnyRow> }];
  const parts = /^\s*(\S.*?)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*$/s.exec(text);
  if (parts === null)
    throw new InvalidArgumentError('It must be a comparison, such as "age>=18", or a filter in JSON.');
  const [, column, op, value] = parts as unknown as [string, string, keyof typeof ops, string];
  if (value === '' && op !== '=' && op !== '!=') throw new InvalidArgumentError(`There must be a value after ${op}.`);
  return [...before, { column, op: ops[op], text: value }];
}

/** Parses a `--set`, and adds it to those before. A text that begins with a brace is an object of values in JSON. */
export function addAssignment(text: string, before: readonly Assignment[] = []): readonly Assignment[] {
  if (text.trimStart().startsWith('{')) return [...before, { values: parseObject(text) }];
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be a column and its value, such as "status=done", or JSON.');
  return [...before, { column: text.slice(0, at), text: text.slice(at + 1) }];
}

/** The filter that all conditions make. The service checks columns and values. */
export function filterOf(wheres: readonly Where[], columns: readonly Column[]): Condition<AnyRow> {
  const conditions = wheres.map((where): Condition<AnyRow> => {
    if ('filter' in where) return where.filter;
    const { column, op, text } = where;
    if (text === '') return { column, op: op === 'eq' ? 'isEmpty' : 'isNotEmpty' };
    return { column, op, value: valueOf(columns, column, text) };
  });
  return conditions.length === 1 ? conditions[0]! : { and: conditions };
}

/** The patch that all assignments make. A later one of the same column wins. */
export function patchOf(assignments: readonly Assignment[], columns: readonly Column[]): AnyRow {
  const values = assignments.map((assignment): AnyRow => {
    if ('values' in assignment) return assignment.values;
    const { column, text } = assignment;
    return { [column]: text === '' ? null : valueOf(columns, column, text) };
  });
  return Object.fromEntries(values.flatMap((each) => Object.entries(each)));
}

/** The value of a text in a column. The service refuses what does not fit, so a text that is no JSON stays a text. */
function valueOf(columns: readonly Column[], id: string, text: string): unknown {
  const type = columns.find((column) => column.id === id)?.type ?? 'string';
  if (typeof type === 'string' && scalarTraits[type as ScalarKind].json === 'string') return text;
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

function parseObject(text: string): AnyRow {
  try {
    return parseExactly(text) as AnyRow;
  } catch {
    throw new InvalidArgumentError('It begins with a brace, but is not JSON.');
  }
}
