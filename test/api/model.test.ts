/**
 * Random sequences of requests are compared with a model of the interface in memory: outcomes, rows, and the order of
 * versions.
 */
import { expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { typeInSchema } from '../support/column-types.ts';
import {
  sequenceArb,
  type Add,
  type Alter,
  type Ask,
  type BatchCommand,
  type DeclareKey,
  type ModelCommand,
  type Create,
  type Delete,
  type DeleteStash,
  type Overwrite,
  type Patch,
  type PutChunk,
} from '../support/model-commands.ts';
import {
  createModelTable,
  ModelStashes,
  ModelTable,
  type Cells,
  type ModelOperation,
  type Outcome,
} from '../support/model.ts';
import { fc, uncut } from '../support/property.ts';
import { isOrdered, meets, sorted as sortedRows } from '../support/query-model.ts';
import { unknownRowId, unknownTableId } from '../support/tables.ts';
import { limitMs } from '../support/time-limits.ts';

// Compaction at any time must not be visible.
const { api } = useOwnApi({ MAINTENANCE_INTERVAL_MS: '2' });

/** A row as JSON text. */
const textOf = (cells: Cells): string =>
  `{${cells.map(([id, value]) => `${JSON.stringify(id)}:${JSON.stringify(value)}`).join()}}`;
const textOfRows = (rows: readonly Cells[]): string => `[${rows.map(textOf).join()}]`;
const textOfOperation = (operation: ModelOperation): string => {
  const row = 'cells' in operation ? `,"row":${textOf(operation.cells)}` : '';
  if (operation.op === 'add') return `{"op":"add"${row}}`;
  const { op, id, ifMatch } = operation;
  return `{"op":"${op}","rowID":"${id}"${row}${ifMatch === null ? '' : `,"ifMatch":"${ifMatch}"`}}`;
};
const textOfStash = (stash: string): string => JSON.stringify({ $stashID: stash });
const withIds = (rows: readonly Cells[], ids: readonly (string | null)[]): Cells[] =>
  rows.map((cells, row) => (ids[row] === null ? cells : [['$rowID', ids[row]!], ...cells]));
const schemaText = (columns: NonNullable<Create['columns']>, key: Create['key']): string => {
  const given = columns.map(([id, type]) => ({ id, type: typeInSchema(type) }));
  return `"schema":${JSON.stringify({ columns: given, ...(key === null ? {} : { key }) })},`;
};

interface Known {
  readonly id: string;
  readonly model: ModelTable;
  /** The IDs of all rows that ever existed. */
  readonly rowIds: string[];
}

class Run {
  readonly #client: Client;
  readonly #tables: Known[] = [];
  readonly #stashes = new ModelStashes();
  #latest = 0n;

  constructor(client: Client) {
    this.#client = client;
  }

  async do(command: ModelCommand): Promise<void> {
    if (command.kind === 'create') {
      await this.#create(command);
      return;
    }
    if (command.kind === 'putChunk' || command.kind === 'deleteStash') {
      await this.#changeStash(command);
      return;
    }
    const known = this.#tables[command.table % (this.#tables.length + 1)];
    if (command.kind === 'ask') await this.#ask(command, known);
    else if (known === undefined) await this.#expectUnknown(command);
    else await this.#change(command, known);
  }

  async #changeStash(command: PutChunk | DeleteStash): Promise<void> {
    const path = `/stashes/${command.stash}`;
    if (command.kind === 'deleteStash') {
      expect(outcomeOf(await this.#client.delete(path))).toBe('200');
      this.#stashes.delete(command.stash);
      return;
    }
    const known = this.#tables[command.table % (this.#tables.length + 1)];
    const rows = Array.from({ length: command.times }, () => command.rows).flat();
    const ids = rows.map((_, row) => known?.rowIds[command.kept[row] ?? -1] ?? null);
    expect(outcomeOf(await this.#client.put(`${path}/${command.serial}`, textOfRows(withIds(rows, ids))))).toBe('200');
    this.#stashes.put(command.stash, command.serial, { rows, ids });
  }

  /** The rows of a stash; null if it does not exist. */
  #rowsOfStash(stash: string): readonly Cells[] | null {
    return this.#stashes.content(stash)?.rows ?? null;
  }

  async #create({ columns, key, rows: given, stash, mode }: Create): Promise<void> {
    const schema = columns === null ? '' : schemaText(columns, key);
    // A create with a schema of its own counts a stash that never existed as no rows.
    const isEmpty = stash !== null && columns !== null && !this.#stashes.hasEnded(stash);
    const rows = stash === null ? given : (this.#rowsOfStash(stash) ?? (isEmpty ? [] : null));
    const source = stash === null ? textOfRows(given) : textOfStash(stash);
    const answer = await this.#client.post(`/tables?onSchemaError=${mode}`, `{"name":"n",${schema}"rows":${source}}`);
    const { table: model, outcome } = createModelTable(
      columns === null ? null : new Map(columns),
      rows,
      mode,
      columns === null ? null : key,
    );
    this.#expectOutcome(answer, outcome, '201', 0n);
    if ('error' in outcome) return;
    const { tableID, rowIDs } = answer.json.data;
    outcome.take(answer.version!, rowIDs);
    model.widened = 0n;
    const known = { id: tableID, model, rowIds: [...rowIDs] };
    this.#tables.push(known);
    await this.#compare(known);
  }

  async #overwrite({ columns, key, rows, kept, times, stash, mode, match }: Overwrite, known: Known): Promise<void> {
    const { model } = known;
    const schema = columns === null ? '' : schemaText(columns, key);
    const all = Array.from({ length: times }, () => rows).flat();
    const ids = all.map((_, row) => known.rowIds[kept[row] ?? -1] ?? null);
    // Mostly each occurs once; sometimes one occurs twice.
    const given = mode === 'abort' ? ids : ids.map((id, row) => (ids.indexOf(id) === row ? id : null));
    const content = stash === null ? { rows: all, ids: given } : this.#stashes.content(stash);
    const once = content?.ids ?? [];
    const ifMatch = versionFor(match, model.version, model.version);
    const body = `{${schema}"rows":${stash === null ? textOfRows(withIds(all, given)) : textOfStash(stash)}}`;
    const answer = await this.#client.put(`/tables/${known.id}?onSchemaError=${mode}`, body, headersFor(ifMatch));
    const outcome = model.overwrite(
      columns === null ? null : new Map(columns),
      key,
      content?.rows ?? null,
      once,
      mode,
      ifMatch,
    );
    this.#expectOutcome(answer, outcome, '200', model.version);
    if ('error' in outcome) return;
    const { rowIDs } = answer.json.data as { rowIDs: string[] };
    rowIDs.forEach((id, row) => expect(known.rowIds.includes(id)).toBe(once[row] !== null));
    expect(rowIDs.filter((_, row) => once[row] !== null)).toEqual(once.filter((id) => id !== null));
    outcome.take(answer.version!, rowIDs);
    known.rowIds.push(...rowIDs.filter((_, row) => once[row] === null));
    this.#rise(answer.version!);
  }

  async #batch({ operations, mode, match }: BatchCommand, { id: tableId, model, rowIds }: Known): Promise<void> {
    const asked = operations.map(({ op, row, cells, match: matchOfRow }): ModelOperation => {
      if (op === 'add') return { op, cells };
      const id = rowIds[row % (rowIds.length + 1)] ?? unknownRowId;
      const own = model.rows.find((each) => each.id === id)?.version ?? 1n;
      const ifMatch = versionFor(matchOfRow, own, model.version);
      return op === 'patch' ? { op, id, cells, ifMatch } : { op, id, ifMatch };
    });
    const ifMatch = versionFor(match, model.version, model.version);
    const body = `{"onSchemaError":"${mode}","operations":[${asked.map(textOfOperation).join()}]}`;
    const answer = await this.#client.post(`/tables/${tableId}/batch`, body, headersFor(ifMatch));
    const outcome = model.batch(asked, mode, ifMatch);
    const moved = this.#expectOutcome(answer, outcome, '200', model.version);
    if ('error' in outcome) return;
    expect(answer.headers.get('tablog-rows')).toBe(outcome.counts);
    const answered = answer.json.data.rowIDs as string[];
    asked.forEach((operation, at) => {
      if (operation.op === 'add') expect(rowIds).not.toContain(answered[at]);
      else expect(answered[at]).toBe(operation.id);
    });
    rowIds.push(...answered.filter((_, at) => asked[at]!.op === 'add'));
    if (moved === null) return;
    outcome.take(moved, answered);
    this.#rise(moved);
  }

  async #alter({ remove, types, add, order, clears, match }: Alter, known: Known): Promise<void> {
    const { model } = known;
    const ifMatch = versionFor(match, model.version, model.version);
    const columnsIn = (columns: Alter['add']): unknown =>
      columns.map(([id, type]) => ({ id, type: typeInSchema(type) }));
    const answer = await this.#client.patch(
      `/tables/${known.id}?onMisfit=${clears ? 'clear' : 'abort'}`,
      { remove, columns: columnsIn(types), add: columnsIn(add), order },
      headersFor(ifMatch),
    );
    const outcome = model.changeColumns({ remove, types, add, order, clears }, ifMatch);
    const moved = this.#expectOutcome(answer, outcome, '200', model.version);
    if ('error' in outcome) return;
    if (clears) {
      const misfits = answer.json.data.misfits as { id: string; cells: number }[];
      expect(new Map(misfits.map(({ id, cells }) => [id, cells]))).toEqual(outcome.misfits);
    }
    if (moved === null) return;
    outcome.take(answer.version!, []);
    this.#rise(answer.version!);
    const { columns } = (await this.#client.get(`/tables/${known.id}`)).json.data.schema;
    expect(columns).toEqual(columnsIn([...model.columns]));
  }

  async #declareKey({ key, match }: DeclareKey, { id, model }: Known): Promise<void> {
    const ifMatch = versionFor(match, model.version, model.version);
    const answer = await this.#client.patch(`/tables/${id}`, { key }, headersFor(ifMatch));
    const outcome = model.declareKey(key, ifMatch);
    const moved = this.#expectOutcome(answer, outcome, '200', model.version);
    if ('error' in outcome || moved === null) return;
    outcome.take(moved, []);
    this.#rise(moved);
    const { schema } = (await this.#client.get(`/tables/${id}`)).json.data;
    expect(schema.key ?? null).toEqual(key);
  }

  async #change(
    command: Add | Overwrite | Patch | Delete | Alter | DeclareKey | BatchCommand,
    known: Known,
  ): Promise<void> {
    const { model } = known;
    const path = `/tables/${known.id}/rows`;
    if (command.kind === 'overwrite') {
      await this.#overwrite(command, known);
    } else if (command.kind === 'batch') {
      await this.#batch(command, known);
    } else if (command.kind === 'alter') {
      await this.#alter(command, known);
    } else if (command.kind === 'declareKey') {
      await this.#declareKey(command, known);
    } else if (command.kind === 'add') {
      const { stash, mode, match } = command;
      const given = Array.from({ length: command.times }, () => command.rows).flat();
      const rows = stash === null ? given : this.#rowsOfStash(stash);
      const ifMatch = versionFor(match, model.version, model.version);
      const source = stash === null ? textOfRows(given) : textOfStash(stash);
      const answer = await this.#client.post(`${path}?onSchemaError=${mode}`, source, headersFor(ifMatch));
      const outcome = model.add(rows, mode, ifMatch);
      this.#expectOutcome(answer, outcome, '201', model.version);
      if (!('error' in outcome)) {
        outcome.take(answer.version!, answer.json.data.rowIDs);
        known.rowIds.push(...answer.json.data.rowIDs);
      }
    } else {
      const rowId = known.rowIds[command.row % (known.rowIds.length + 1)] ?? unknownRowId;
      const row = model.rows.find(({ id }) => id === rowId);
      const ifMatch = versionFor(command.match, row?.version ?? 1n, model.version);
      const [answer, outcome] =
        command.kind === 'patch'
          ? [
              await this.#client.patch(
                `${path}/${rowId}?onSchemaError=${command.mode}`,
                textOf(command.cells),
                headersFor(ifMatch),
              ),
              model.patch(rowId, command.cells, command.mode, ifMatch),
            ]
          : [await this.#client.delete(`${path}/${rowId}`, headersFor(ifMatch)), model.delete(rowId, ifMatch)];
      const unmoved = command.kind === 'patch' && row ? model.etagOf(row) : model.version;
      const moved = this.#expectOutcome(answer, outcome, '200', unmoved, command.kind === 'patch');
      if (moved !== null && !('error' in outcome)) {
        const version = (await this.#client.head(path)).version!;
        outcome.take(version, []);
        if (command.kind === 'delete') expect(version).toBe(answer.version);
        else expect(answer.version).toBe(model.etagOf(row!));
        this.#rise(version);
      }
    }
    await this.#compare(known);
  }

  /** Checks status, type and version. Returns the answer's version if something was changed. */
  #expectOutcome(answer: Answer, outcome: Outcome, success: string, unmoved: bigint, ofRow = false): bigint | null {
    expect(outcomeOf(answer)).toBe('error' in outcome ? outcome.error : success);
    if ('error' in outcome) return null;
    if (!outcome.changed) {
      expect(answer.version).toBe(unmoved);
      return null;
    }
    if (!ofRow && success === '201') this.#rise(answer.version!);
    return answer.version;
  }

  /** Every change has a version above all earlier ones. */
  #rise(version: bigint): void {
    expect(version > this.#latest).toBe(true);
    this.#latest = version;
  }

  async #compare({ id, model }: Known): Promise<void> {
    const page = await this.#client.get(`/tables/${id}/rows`);
    expect(page.version).toBe(model.version);
    expect(page.json.data.map(entriesOf)).toEqual(model.rows.map((row) => sorted([...row.cells, ['$rowID', row.id]])));
    const row = model.rows[model.rows.length >> 1];
    if (row === undefined) return;
    const answer = await this.#client.get(`/tables/${id}/rows/${row.id}`);
    expect(entriesOf(answer.json.data)).toEqual(sorted([...row.cells, ['$rowID', row.id]]));
    expect(answer.version).toBe(model.etagOf(row));
  }

  async #ask({ column, row, op, descending }: Ask, known: Known | undefined): Promise<void> {
    const model = known?.model ?? new ModelTable(null);
    const value = model.rows[row % (model.rows.length + 1)]?.cells.get(column);
    const filter = value === undefined ? { column, op: 'isEmpty' } : { column, op, value };
    const type = model.columns.get(column);
    const sort = type !== undefined && isOrdered(type) ? [`${descending ? '-' : ''}${column}`] : [];
    const answer = await this.#client.post(`/tables/${known?.id ?? unknownTableId}/query`, {
      filter,
      sort,
      count: 'exact',
    });
    if (known === undefined || type === undefined) {
      expect(outcomeOf(answer)).toBe(known === undefined ? '404 table_not_found' : '422 column_id_not_found');
      return;
    }
    const types = withoutPrototype(model.columns);
    const rows = model.rows.map(({ id, cells }) => withoutPrototype([...cells, ['$rowID', id]]));
    const found = sortedRows(
      rows.filter((each) => meets(each, filter, types)),
      sort,
      types,
    );
    expect([answer.version, answer.headers.get('tablog-count')]).toEqual([model.version, String(found.length)]);
    expect(answer.json.data.map(entriesOf)).toEqual(found.map(entriesOf));
    if (op !== 'eq' || model.key?.length !== 1 || model.key[0] !== column) return;
    const query = encodeURIComponent(JSON.stringify(filter));
    const lookedUp = await this.#client.get(`/tables/${known.id}/rows?filter=${query}`);
    expect([lookedUp.version, lookedUp.json.data.map(entriesOf)]).toEqual([model.version, found.map(entriesOf)]);
  }

  async #expectUnknown(command: Add | Overwrite | Patch | Delete | Alter | DeclareKey | BatchCommand): Promise<void> {
    const path = `/tables/${unknownTableId}/rows`;
    const answer =
      command.kind === 'batch'
        ? await this.#client.post(`/tables/${unknownTableId}/batch`, '{"operations":[{"op":"add","row":{}}]}')
        : command.kind === 'add'
          ? await this.#client.post(path, textOfRows(command.rows))
          : command.kind === 'overwrite'
            ? await this.#client.put(`/tables/${unknownTableId}`, textOfRows(command.rows))
            : command.kind === 'alter' || command.kind === 'declareKey'
              ? await this.#client.patch(`/tables/${unknownTableId}`, { name: 'x' })
              : command.kind === 'patch'
                ? await this.#client.patch(`${path}/${unknownRowId}`, textOf(command.cells))
                : await this.#client.delete(`${path}/${unknownRowId}`);
    expect(outcomeOf(answer)).toBe('404 table_not_found');
  }
}

const sorted = (entries: [string, unknown][]): unknown => entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
const entriesOf = (row: object): unknown => sorted(Object.entries(row));
/** A column may be called `__proto__`. */
const withoutPrototype = <T>(entries: Iterable<readonly [string, T]>): Record<string, T> => {
  const object = Object.create(null) as Record<string, T>;
  for (const [key, value] of entries) object[key] = value;
  return object;
};
const headersFor = (ifMatch: bigint | null): Record<string, string> =>
  ifMatch === null ? {} : { 'if-match': `"${ifMatch}"` };

function versionFor(match: string, own: bigint, table: bigint): bigint | null {
  switch (match) {
    case 'fresh':
      return own;
    case 'stale':
      return own - 1n;
    case 'table':
      return table;
    case 'later':
      return table + 1n;
    default:
      return null;
  }
}

test(
  'random sequences of requests have the results of the model',
  async () => {
    const endAt = performance.now() + scale.modelMs;
    let sequences = 0;
    await fc.assert(
      fc.asyncProperty(sequenceArb, async ([first, rest]) => {
        if (performance.now() > endAt) return;
        const run = new Run((await api().createTeam()).client);
        for (const command of [first, ...rest]) await run.do(command);
        sequences += 1;
      }),
      { ...uncut, numRuns: scale.modelSequences },
    );
    process.stderr.write(`${sequences} random sequences came out as in the model\n`);
    expect(sequences).toBeGreaterThan(0);
  },
  limitMs(scale.modelMs + 120_000),
);
