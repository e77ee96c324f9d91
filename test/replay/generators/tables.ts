/** Tables: created, patched and deleted; rows that are added, patched and deleted; overwrites that retain row IDs. */
import { rowLimits } from '../../../commands/limits.ts';
import type { PackedBody } from '../../../src/language/events/event-codec.ts';
import type { EventData } from '../../../src/language/events/event.ts';
import type { RowSource } from '../../../src/language/events/row-source.ts';
import { formatRowId } from '../../../src/language/events/row-id.ts';
import { carriesRow, type RowOperation } from '../../../src/language/events/row-operations.ts';
import { emptyProfile } from '../../../src/language/values/build-profile.ts';
import type { RequestedColumnChanges } from '../../../src/language/events/table-events.ts';
import type { SchemaErrorMode } from '../../../src/language/values/decide-schema.ts';
import { givenColumns, samplePatch, rowsOf, sampleNames, type SampleRows } from '../row-samples.ts';
import type { Generator, TeamMaterial } from './generator.ts';
import { anyStash, sendChunk } from './stashes.ts';

const limits = rowLimits(10_000_000);

export class TablesGenerator implements Generator {
  readonly steps = [
    [550, () => this.#patch()],
    [150, () => this.#delete()],
    [60, () => this.#batch()],
    [205, () => this.#addFew()],
    [5, () => this.#overwrite()],
    [10, () => this.#createRefused()],
    [20, () => this.#patchTable()],
    [5, () => this.#deleteAnyTable()],
  ] as const;
  readonly #team: TeamMaterial;
  /** A table that is never deleted: each log has retained row IDs in a replaced generation, whatever the seed. */
  #kept: string | null = null;

  constructor(team: TeamMaterial) {
    this.#team = team;
  }

  async begin(): Promise<void> {
    const { tables, sender } = this.#team;
    // Whatever the seed, there are tables: some creations are refused or come too late, with some seeds all of the
    // first four.
    for (let attempt = 0; attempt < 20 && tables.count < 3; attempt += 1) {
      for (let table = 0; table < 4; table += 1) await this.#createTable();
      await sender.settle();
    }
    // Each log has a deleted table, whatever the seed.
    await this.#deleteTable(tables.pick(), null);
    await this.#retainTwice();
  }

  async beginBurst(): Promise<void> {
    if (this.#team.random.chance(0.5)) await this.#createTable();
  }

  #mode(): SchemaErrorMode {
    const { random: r } = this.#team;
    return r.chance(0.05) ? 'updateSchema' : r.pick(['abort', 'dropColumns']);
  }

  async #patch(): Promise<void> {
    const { teamId, random: r, tables, sender } = this.#team;
    const tableId = tables.any();
    const kind = r.chance(0.1) ? 'nothing' : r.chance(0.5) ? 'plain' : r.pick(sampleNames);
    const {
      carried: { profile },
      body,
    } = await samplePatch(r, kind);
    sender.send(
      {
        type: 'RowPatchRequested',
        teamId,
        tableId,
        row: tables.rowOf(tableId),
        ifMatch: tables.ifMatch(tableId),
        onSchemaError: this.#mode(),
        limits: r.chance(0.01) ? { ...limits, rowBytesMax: 5 } : limits,
        profile,
      },
      body,
    );
  }

  #patchTable(): void {
    const { teamId, random: r, tables, sender } = this.#team;
    const tableId = tables.any();
    if (r.chance(0.4)) {
      sender.send({
        type: 'TablePatchRequested',
        teamId,
        tableId,
        ifMatch: tables.ifMatch(tableId),
        name: null,
        columns: [],
        columnChanges: this.#columnChanges(),
      });
      return;
    }
    const columns = r.chance(0.4)
      ? []
      : Array.from({ length: 1 + r.below(2) }, () => ({
          // Now and then an unknown column; two may be the same.
          id: r.chance(0.1) ? 'nobody' : r.pick(givenColumns).id,
          displayName: r.chance(0.3) ? null : `Shown ${r.below(3)}`,
        }));
    sender.send({
      type: 'TablePatchRequested',
      teamId,
      tableId,
      ifMatch: tables.ifMatch(tableId),
      name: r.chance(0.5) ? null : `table ${r.below(100)}`,
      columns,
      ...(r.chance(0.3) ? { key: r.pick([['n'], ['name', 'day'], null]) } : {}),
    });
  }

  /** Removes and adds columns, and changes types. Sometimes the rows do not fit them, or nobody has tried them. */
  #columnChanges(): RequestedColumnChanges {
    const { random: r } = this.#team;
    const { id, type } = r.pick(givenColumns);
    const changes = { remove: [], change: [], add: [], order: [], columnsMax: 1000, tried: null } as const;
    const onMisfit = r.pick(['abort', 'clear'] as const);
    return {
      ...changes,
      onMisfit,
      ...r.pick<Partial<RequestedColumnChanges>>([
        { remove: [id] },
        { remove: [id], add: [{ id, type }] },
        { add: [{ id: r.pick([id, `new ${r.below(5)}`]), type }] },
        { order: [id] },
        { change: [{ id, type: r.pick(['string', 'number', 'json', type] as const) }] },
      ]),
    };
  }

  async #deleteAnyTable(): Promise<void> {
    const { tables } = this.#team;
    const tableId = tables.any();
    if (tableId !== this.#kept) await this.#deleteTable(tableId, tables.ifMatch(tableId));
  }

  /** Deletes a table, and then sends more events for it, as if they had been in flight. */
  async #deleteTable(tableId: string, ifMatch: bigint | null): Promise<void> {
    const { teamId, random: r, tables, sender, addRows } = this.#team;
    sender.send({ type: 'TableDeleteRequested', teamId, tableId, ifMatch });
    if (!tables.end(tableId)) return;
    const { carried, body } = await rowsOf(r, 2, 'plain');
    addRows(tableId, { kind: 'few', ...carried }, body);
    sender.send({ type: 'RowDeleteRequested', teamId, tableId, row: tables.rowOf(tableId), ifMatch: null });
    if (r.chance(0.5)) sender.send({ type: 'TableDeleteRequested', teamId, tableId, ifMatch: null });
  }

  #delete(): void {
    const { teamId, tables, sender } = this.#team;
    const tableId = tables.any();
    sender.send({
      type: 'RowDeleteRequested',
      teamId,
      tableId,
      row: tables.rowOf(tableId),
      ifMatch: tables.ifMatch(tableId),
    });
  }

  /** Operations on few rows: they depend on each other, and some are refused. */
  async #batch(): Promise<void> {
    const { teamId, random: r, tables, sender } = this.#team;
    const tableId = tables.any();
    const rows = Array.from({ length: 3 }, () => tables.rowOf(tableId));
    // Most tables have no key, so that an upsert refuses the batch.
    const kinds = ['add', 'patch', 'patch', 'delete', ...(r.chance(0.2) ? (['upsert'] as const) : [])] as const;
    const operations = Array.from({ length: 1 + r.below(8) }, (): RowOperation => {
      const op = r.pick(kinds);
      return op === 'add' || op === 'upsert'
        ? { op }
        : { op, row: r.pick(rows), ifMatch: r.chance(0.9) ? null : tables.ifMatch(tableId) };
    });
    const rowCount = operations.filter(carriesRow).length;
    const sent = rowCount === 0 ? null : await rowsOf(r, rowCount, r.chance(0.8) ? 'plain' : r.pick(sampleNames));
    sender.send(
      {
        type: 'TableBatchRequested',
        teamId,
        tableId,
        ifMatch: tables.ifMatch(tableId),
        onSchemaError: this.#mode(),
        limits,
        operations,
        profile: sent?.carried.profile ?? emptyProfile,
      },
      sent?.body,
    );
  }

  async #addFew(): Promise<void> {
    const { random: r, tables, addRows } = this.#team;
    const tableId = tables.any();
    if (r.chance(0.05)) return addRows(tableId, { kind: 'none' });
    const { carried, body } = await rowsOf(r, 1 + r.below(5), r.chance(0.7) ? 'plain' : r.pick(sampleNames));
    addRows(tableId, { kind: 'few', ...carried }, body);
  }

  /** Existing rows retain their IDs; now and then IDs are of any generation, repeated or unknown. */
  async #overwrite(): Promise<void> {
    const { teamId, random: r, tables, sender, blocks, sendBody } = this.#team;
    const tableId = tables.any();
    const retained = tables.hasRows(tableId) ? Array.from({ length: r.below(30) }, () => tables.rowOf(tableId)) : [];
    const different = r.chance(0.9) ? [...new Map(retained.map((id) => [formatRowId(id), id])).values()] : retained;
    const { carried, body } = await rowsOf(r, 1 + r.below(40), 'plain', (row) =>
      r.chance(0.7) ? (different[row] ?? null) : null,
    );
    const rows = r.pick<RowSource>([
      await this.#stashOf({ carried, body }),
      { kind: 'none' },
      { kind: 'few', ...carried },
      { kind: 'block', ...carried, segmentId: r.uuid() },
      sendBody([r.pick(blocks), { carried, body }, r.pick(blocks)]),
    ]);
    sender.send(
      {
        type: 'TableOverwriteRequested',
        teamId,
        tableId,
        ifMatch: tables.ifMatch(tableId),
        limits,
        columns: r.chance(0.3) ? givenColumns : null,
        ...(r.chance(0.2) ? { key: ['name'] } : {}),
        onSchemaError: r.pick(['dropColumns', 'updateSchema']),
        rows,
      },
      body,
    );
  }

  /** Retains a row's ID through two overwrites, so that replaced generations have retained IDs too. */
  async #retainTwice(): Promise<void> {
    const { teamId, random: r, tables, sender } = this.#team;
    const tableId = tables.pick();
    this.#kept = tableId;
    const retained = tables.rowOf(tableId);
    for (let time = 0; time < 2; time += 1) {
      const { carried, body } = await rowsOf(r, 3, 'plain', (row) => (row === 0 ? retained : null));
      sender.send(
        {
          type: 'TableOverwriteRequested',
          teamId,
          tableId,
          ifMatch: null,
          limits,
          columns: null,
          onSchemaError: 'dropColumns',
          rows: { kind: 'few', ...carried },
        },
        body,
      );
    }
  }

  /** A stash that holds these rows, and possibly others. */
  async #stashOf(rows: SampleRows): Promise<RowSource> {
    const stash = anyStash(this.#team);
    await sendChunk(this.#team, stash.stashId, rows);
    return stash;
  }

  async #createTable(): Promise<void> {
    const { random: r } = this.#team;
    const { carried, body } = await rowsOf(
      r,
      1 + r.below(40),
      r.pick(['plain', 'sparse', 'newColumn', 'numberAsName']),
    );
    this.#create(
      {
        columns: r.chance(0.6) ? givenColumns : null,
        ...(r.chance(0.4) ? { key: r.pick([['n'], ['day', 'name']]) } : {}),
        rows: { kind: 'few', ...carried },
        appsToLink: r.chance(0.5) ? ['app one', 'äpp 🙂', 'app one'] : null,
        onSchemaError: r.pick(['dropColumns', 'updateSchema']),
      },
      body,
    );
  }

  async #createRefused(): Promise<void> {
    const { random: r } = this.#team;
    const { carried, body } = await rowsOf(r, 2, r.pick(sampleNames));
    const columns = r.pick([
      [...givenColumns, { id: 'name', type: 'number' } as const],
      [{ id: '$rowID', type: 'string' } as const],
      givenColumns,
    ]);
    this.#create({ columns, rows: { kind: 'few', ...carried }, appsToLink: null, onSchemaError: 'abort' }, body);
  }

  #create(
    given: Pick<
      Extract<EventData, { type: 'TableCreateRequested' }>,
      'columns' | 'key' | 'rows' | 'appsToLink' | 'onSchemaError'
    >,
    body: PackedBody,
  ): void {
    const { teamId, random: r, sender } = this.#team;
    sender.send(
      {
        type: 'TableCreateRequested',
        teamId,
        tableId: r.uuid(),
        name: `table ${r.below(100)}`,
        ...given,
        // Not of tables with apps: each log needs some.
        limits: { ...limits, tablesMax: given.appsToLink === null && r.chance(0.2) ? r.below(5) : 10_000 },
      },
      body,
    );
  }
}
