/** `tablog update` and `tablog delete`: change all rows that meet a condition, all or none. */
import {
  TablogError,
  type AnyRow,
  type Changed,
  type Condition,
  type RowOperation,
  type Table,
} from '../../../clients/typescript/src/index.ts';
import { describeServerError } from '../client/server-error.ts';
import { writeOut, writeWords } from '../console.ts';
import { interruption } from '../interruption.ts';
import { showNumber } from '../rows-progress.ts';
import { openTable, type TablesFlags } from '../tables-command.ts';
import { UserError } from '../user-error.ts';
import { filterOf, patchOf, type Assignment, type Where } from './conditions.ts';
import { canAsk, confirm } from './confirm.ts';

export interface DeleteFlags extends TablesFlags {
  readonly where: readonly Where[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export interface UpdateFlags extends DeleteFlags {
  readonly set: readonly Assignment[];
}

/** Sets columns of all rows that meet the conditions. Throws UserError. */
export async function runUpdate(idOrName: string, flags: UpdateFlags): Promise<void> {
  await change(idOrName, flags, flags.set);
}

/** Deletes all rows that meet the conditions. Throws UserError. */
export async function runDelete(idOrName: string, flags: DeleteFlags): Promise<void> {
  await change(idOrName, flags, null);
}

/** What is done to the rows that meet a condition. `patch` null: they are deleted. */
interface RowsChange {
  readonly table: Table;
  readonly filter: Condition<AnyRow>;
  readonly patch: AnyRow | null;
}

async function change(idOrName: string, flags: DeleteFlags, set: readonly Assignment[] | null): Promise<void> {
  if (!flags.yes && !flags.dryRun && !canAsk())
    throw new UserError('Nobody can be asked here: give --yes to change the rows, or --dry-run to count them.');
  const { table, id, name } = await openTable(idOrName, flags);
  const columns = await table.columns.list();
  const asked: RowsChange = {
    table,
    filter: filterOf(flags.where, columns),
    patch: set === null ? null : patchOf(set, columns),
  };
  const told = `of the table ${JSON.stringify(name)} (${id})`;
  const verb = set === null ? 'delete' : 'update';
  const version = (changed: Changed): string => changed.version.slice(1, -1);
  if (flags.dryRun) {
    const found = await find(asked);
    const matched = found.data.rowIDs.length;
    if (flags.json) writeOut(JSON.stringify({ id, name, matched, version: version(found) }));
    else writeWords(`${rows(matched)} ${told} would be ${verb}d, version ${version(found)}.`);
    return;
  }
  const ask = (found: number): Promise<void> =>
    confirm(`${set === null ? 'Delete' : 'Update'} ${rows(found)} ${told}?`, interruption());
  const changed = flags.yes ? await changeAll(asked) : await changeConfirmed(asked, ask);
  const matched = changed.data.rowIDs.length;
  const { patched: updated, deleted, unchanged } = changed;
  const counts = set === null ? { deleted } : { updated, unchanged };
  if (flags.json) writeOut(JSON.stringify({ id, name, matched, ...counts, version: version(changed) }));
  else {
    const same = set !== null && unchanged > 0 ? ` (${showNumber(unchanged)} had these values before)` : '';
    writeWords(`${rows(matched)} ${told} ${verb}d${same}, version ${version(changed)}.`);
  }
}

/** The rows that meet the condition, at a version. Nothing changes. */
function find({ table, filter, patch }: RowsChange): Promise<Changed> {
  const options = { dryRun: true };
  return explained(patch === null ? table.deleteWhere(filter, options) : table.patchWhere(filter, patch, options));
}

function changeAll({ table, filter, patch }: RowsChange): Promise<Changed> {
  return explained(patch === null ? table.deleteWhere(filter) : table.patchWhere(filter, patch));
}

/**
 * Asks, with the number of rows, and then changes exactly these rows, as they were when they were counted. Throws
 * UserError if somebody else has changed one of them meanwhile. Rejects as `ask` does.
 */
export async function changeConfirmed(asked: RowsChange, ask: (rows: number) => Promise<void>): Promise<Changed> {
  const found = await find(asked);
  const { rowIDs } = found.data;
  if (rowIDs.length === 0) return found;
  await ask(rowIDs.length);
  const { table, patch } = asked;
  const operations = rowIDs.map((rowID): RowOperation<AnyRow> => {
    const guarded = { rowID, ifMatch: found.version };
    return patch === null ? { op: 'delete', ...guarded } : { op: 'patch', row: patch, ...guarded };
  });
  return table.batch(operations).catch((error: unknown) => {
    if (!(error instanceof TablogError) || (error.type !== 'precondition_failed' && error.type !== 'row_not_found'))
      throw error;
    throw new UserError('Somebody else has changed some of these rows meanwhile. Nothing was changed: try again.');
  });
}

function explained(changing: Promise<Changed>): Promise<Changed> {
  return changing.catch((error: unknown) => {
    if (!(error instanceof TablogError) || error.type !== 'limit_exceeded') throw error;
    const what = describeServerError(error);
    throw new UserError(`${what}. Nothing was changed. Change the rows in several steps, with narrower conditions.`);
  });
}

function rows(count: number): string {
  return `${showNumber(count)} ${count === 1 ? 'row' : 'rows'}`;
}
