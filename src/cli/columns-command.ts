/** `tablog columns`: lists and changes the columns of a table. */
import type { Column, ColumnMisfits, NewColumn, TablogError } from '../../clients/typescript/src/index.ts';
import { isArrayType, itemKind, type ColumnType } from '../language/values/column-type.ts';
import { writeOut, writeTable, writeWords } from './console.ts';
import { showNumber } from './rows-progress.ts';
import { matching, openTable, type ChangeFlags, type OpenTable, type TablesFlags } from './tables-command.ts';
import { UserError } from './user-error.ts';

export interface AddFlags extends ChangeFlags {
  readonly type: ColumnType;
  /** The display name. */
  readonly name?: string;
  readonly first?: boolean;
}

export interface TypeFlags extends ChangeFlags {
  readonly clear?: boolean;
  readonly dryRun?: boolean;
}

/** Lists the columns in their order. */
export async function runColumnsList(idOrName: string, flags: TablesFlags): Promise<void> {
  const { table } = await openTable(idOrName, flags);
  const columns = await table.columns.list();
  if (flags.json) writeOut(JSON.stringify(columns));
  else
    await writeTable(
      ['ID', 'TYPE', 'SHOWN AS'],
      columns.map(({ id, type, displayName }) => [id, nameOf(type), displayName ?? id]),
    );
}

export async function runColumnsAdd(idOrName: string, id: string, flags: AddFlags): Promise<void> {
  const opened = await openTable(idOrName, flags);
  const column: NewColumn = {
    id,
    type: spell(flags.type),
    ...(flags.name === undefined ? {} : { displayName: flags.name }),
  };
  const version = await opened.table.update(
    { add: [column], ...(flags.first ? { order: [id] } : {}) },
    matching(flags),
  );
  tell(opened, flags, { version }, `now has a column ${JSON.stringify(id)} of type ${flags.type}.`);
}

/** Changes the display name of a column. Without `to`, the ID is shown. */
export async function runColumnsRename(
  idOrName: string,
  id: string,
  to: string | undefined,
  flags: ChangeFlags,
): Promise<void> {
  const opened = await openTable(idOrName, flags);
  const version = await opened.table.columns.rename(id, to ?? null, matching(flags));
  tell(opened, flags, { version }, `now shows its column ${JSON.stringify(id)} as ${JSON.stringify(to ?? id)}.`);
}

/** Changes the type of a column. Cells that do not fit are refused, or cleared; `--dry-run` only counts them. */
export async function runColumnsType(idOrName: string, id: string, type: ColumnType, flags: TypeFlags): Promise<void> {
  const opened = await openTable(idOrName, flags);
  const { columns } = opened.table;
  if (flags.dryRun) {
    const { data, version } = await columns.tryType(id, spell(type), matching(flags));
    const words =
      data.length === 0
        ? `has no cell in ${JSON.stringify(id)} that does not fit ${type}.`
        : `has ${describeMisfits(data)} in ${JSON.stringify(id)} that do not fit ${type}${firstOf(data)}`;
    tell(opened, flags, { version, misfits: data }, words);
    return;
  }
  const onMisfit = flags.clear ? 'clear' : 'abort';
  const { data, version } = await columns
    .changeType(id, spell(type), { onMisfit, ...matching(flags) })
    .catch((error: TablogError) => {
      if (error.type !== 'column_has_invalid_value') throw error;
      throw new UserError(`${error.message}. --clear empties such cells, and --dry-run counts them.`);
    });
  const cleared = data.length === 0 ? '' : ` Cleared: ${describeMisfits(data)} that did not fit${firstOf(data)}`;
  tell(
    opened,
    flags,
    { version, misfits: data },
    `now has the type ${type} in its column ${JSON.stringify(id)}.${cleared}`,
  );
}

/** Removes columns with their values. */
export async function runColumnsRemove(idOrName: string, ids: readonly string[], flags: ChangeFlags): Promise<void> {
  const opened = await openTable(idOrName, flags);
  const version = await opened.table.columns.remove(ids, matching(flags));
  const names = ids.map((id) => JSON.stringify(id)).join(', ');
  tell(opened, flags, { version }, `no longer has ${ids.length === 1 ? 'the column' : 'the columns'} ${names}.`);
}

/** `words`: the rest of the sentence that begins with the table. */
function tell(
  { id, name }: OpenTable,
  { json }: TablesFlags,
  { version, ...more }: { readonly version: string; readonly misfits?: readonly ColumnMisfits[] },
  words: string,
): void {
  if (json) writeOut(JSON.stringify({ id, name, version: version.slice(1, -1), ...more }));
  else writeWords(`The table ${JSON.stringify(name)} ${words}`);
}

function describeMisfits([first]: readonly ColumnMisfits[]): string {
  return `${showNumber(first!.cells)} ${first!.cells === 1 ? 'cell' : 'cells'}`;
}

function firstOf([first]: readonly ColumnMisfits[]): string {
  return `, such as ${first!.value} in the row ${first!.rowID}.`;
}

function spell(type: ColumnType): NewColumn['type'] {
  return isArrayType(type) ? { kind: 'array', items: { kind: itemKind(type) } } : type;
}

function nameOf(type: Column['type']): string {
  return typeof type === 'string' ? type : `array<${type.items.kind}>`;
}
