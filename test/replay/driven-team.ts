/** A team whose events a test projects batch by batch, from a log that exists only in the test. */
import { randomUUID } from 'node:crypto';
import { rowLimits } from '../../commands/limits.ts';
import { Projector } from '../../src/log/projector.ts';
import { models } from '../../projections/models.ts';
import { findClaims } from '../../projections/uploads/file-references.store.ts';
import type { Service } from '../../src/app/service.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { encodeEvent, packBody, type PackedBody } from '../../src/language/events/event-codec.ts';
import type { EncodedEvent, EventData } from '../../src/language/events/event.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import type { RowSource } from '../../src/language/events/row-source.ts';
import type { RequestedColumnChanges } from '../../src/language/events/table-events.ts';
import type { Outcome, RowRange } from '../../src/language/events/outcome.ts';
import { filePath } from '../../src/storage/files/file-name.ts';
import { newFileName } from '../../src/storage/files/new-file-name.ts';
import { readPatchRow } from '../../src/language/formats/read-patch-row.ts';
import type { LogRecord } from '../../src/log/event-log.ts';
import { projectBatch } from '../../src/log/project-records.ts';
import { packRows } from './row-samples.ts';

const limits = rowLimits(1_000_000);

/** The IDs of a completed upload. */
export interface DrivenUpload {
  readonly id: string;
  readonly file: string;
  readonly url: string;
}

/** The text of a row that names the file of an upload. */
export function naming({ url }: DrivenUpload): string {
  return `{"a":"${url}"}`;
}

/** A log in memory: projects events at the next offsets of their partition. */
export class DrivenLog {
  readonly database: Database;
  readonly #projector = new Projector(models);
  readonly #next = new Map<number, bigint>();

  constructor(database: Database) {
    this.database = database;
  }

  /** Projects events in batches of `batchEvents`, all at the same log time; resolves to their outcomes. */
  async project(
    partition: number,
    time: number,
    events: readonly EncodedEvent[],
    batchEvents = events.length,
  ): Promise<Outcome[]> {
    const { database } = this;
    const first = this.#next.get(partition) ?? 0n;
    const records = events.map(({ bytes }, at): LogRecord => ({ partition, offset: first + BigInt(at), time, bytes }));
    const outcomes = new Map<string, Outcome>();
    const target = { database, projector: this.#projector, partition, epoch: 0n };
    for (let at = 0; at < records.length; at += batchEvents) {
      const batch = records.slice(at, at + batchEvents);
      const projected = await projectBatch(target, batch);
      this.#next.set(partition, batch.at(-1)!.offset + 1n);
      for (const [commandId, outcome] of projected.outcomes) outcomes.set(commandId, outcome);
    }
    return events.map(({ commandId }) => outcomes.get(commandId)!);
  }
}

/** Whatever decides events, in a read model that can be asked. */
export type DecidingLog = Pick<DrivenLog, 'database' | 'project'>;

/** The log of a service, which decides at the time that it is. */
export function logOf({ database, log }: Pick<Service, 'database' | 'log'>): DecidingLog {
  return {
    database,
    project: async (partition, _time, events) => Promise.all(events.map((event) => log.append(partition, event))),
  };
}

export class DrivenTeam {
  readonly id = randomUUID();
  readonly #log: DecidingLog;
  readonly #partition: number;

  constructor(log: DecidingLog, partition: number) {
    this.#log = log;
    this.#partition = partition;
  }

  static async create(log: DecidingLog, partition = 0): Promise<DrivenTeam> {
    const team = new DrivenTeam(log, partition);
    await team.project(1, [team.event({ type: 'TeamCreated', teamId: team.id, name: 'team' })]);
    return team;
  }

  event(data: EventData, body?: PackedBody): EncodedEvent {
    return encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data, body);
  }

  /** Projects events in batches of `batchEvents`. Rejects if one of them is refused. */
  async project(time: number, events: readonly EncodedEvent[], batchEvents?: number): Promise<Outcome[]> {
    const outcomes = await this.#log.project(this.#partition, time, events, batchEvents);
    const refused = outcomes.find(({ status }) => status === 'refused');
    if (refused) throw new Error(JSON.stringify(refused));
    return outcomes;
  }

  /** Projects events of which the last adds rows; resolves to the ranges of these rows. */
  async #projectRows(...events: readonly EncodedEvent[]): Promise<readonly RowRange[]> {
    const outcome = (await this.project(1, events)).at(-1)!;
    return outcome.status === 'applied' ? outcome.result.rows! : [];
  }

  // Uploads.

  upload(): DrivenUpload {
    const file = newFileName();
    return { id: randomUUID(), file, url: `https://files.example${filePath(file, 'a b.png')}` };
  }

  creating({ id }: DrivenUpload, unclaimedLifeMs = 10): EncodedEvent {
    return this.event({
      type: 'UploadCreateRequested',
      teamId: this.id,
      uploadId: id,
      appId: 'app',
      contentType: 'image/png',
      fileName: 'a b.png',
      limits: { sizeMax: 1000, lifeMs: 1000, unclaimedLifeMs },
    });
  }

  completing({ id, file }: DrivenUpload): EncodedEvent {
    return this.event({
      type: 'UploadCompleteRequested',
      teamId: this.id,
      uploadId: id,
      appId: 'app',
      file: { name: file, size: 7 },
    });
  }

  checking({ id }: DrivenUpload): EncodedEvent {
    return this.event({ type: 'UploadChecked', teamId: this.id, uploadId: id });
  }

  /** Creates and completes an upload. */
  async uploaded(): Promise<DrivenUpload> {
    const upload = this.upload();
    await this.project(1, [this.creating(upload), this.completing(upload)]);
    return upload;
  }

  /** Whether rows name the file, after everything projected so far. */
  async isClaimed({ id }: DrivenUpload): Promise<boolean> {
    const [claim] = await this.#log.database.writers.with((tx) => findClaims(tx, [id]));
    return claim!.isClaimed;
  }

  // Tables and rows. Rows are given as JSON texts.

  async creatingTable(tableId: string, ...rows: readonly string[]): Promise<EncodedEvent> {
    const { source, body } = await sourceOf(rows, 'few');
    return this.event(
      {
        type: 'TableCreateRequested',
        teamId: this.id,
        tableId,
        name: 'table',
        columns: [
          { id: 'n', type: 'number' },
          { id: 'a', type: 'string' },
        ],
        onSchemaError: 'updateSchema',
        appsToLink: null,
        limits,
        rows: source,
      },
      body,
    );
  }

  async table(...rows: readonly string[]): Promise<string> {
    const tableId = randomUUID();
    await this.project(1, [await this.creatingTable(tableId, ...rows)]);
    return tableId;
  }

  async adding(
    tableId: string,
    kind: 'few' | 'block',
    rows: readonly string[],
    onSchemaError: 'updateSchema' | 'dropColumns' = 'updateSchema',
  ): Promise<EncodedEvent> {
    const { source, body } = await sourceOf(rows, kind);
    return this.#adding(tableId, source, body, onSchemaError);
  }

  #adding(
    tableId: string,
    rows: RowSource,
    body?: PackedBody,
    onSchemaError: 'updateSchema' | 'dropColumns' = 'updateSchema',
  ): EncodedEvent {
    return this.event(
      { type: 'RowsAddRequested', teamId: this.id, tableId, ifMatch: null, onSchemaError, limits, rows },
      body,
    );
  }

  /** Adds rows; resolves to the address of the first. */
  async add(tableId: string, kind: 'few' | 'block', ...rows: readonly string[]): Promise<RowAddress> {
    return addressIn(await this.#projectRows(await this.adding(tableId, kind, rows)));
  }

  importing(tableId: string, stashId: string): EncodedEvent {
    return this.#adding(tableId, { kind: 'stash', stashId });
  }

  async import(tableId: string, stashId: string): Promise<RowAddress> {
    return addressIn(await this.#projectRows(this.importing(tableId, stashId)));
  }

  async chunk(stashId: string, ...rows: readonly string[]): Promise<void> {
    await this.project(1, [await this.puttingChunk(stashId, rows)]);
  }

  async puttingChunk(stashId: string, rows: readonly string[], serial = '1'): Promise<EncodedEvent> {
    const { source, body } = await sourceOf(rows, 'block');
    const stashLimits = { lifeMs: 3_600_000, chunksMax: 20_000, rowsMax: 20_000, profiledColumnsMax: 20_000 };
    return this.event(
      { type: 'ChunkPutRequested', teamId: this.id, stashId, serial, limits: stashLimits, rows: source },
      body,
    );
  }

  async sendingBlock(bodyId: string, number: number, rows: readonly string[]): Promise<EncodedEvent> {
    const { carried, body } = await packRows(rows);
    return this.event(
      { type: 'BlockReceived', teamId: this.id, bodyId, number, segmentId: randomUUID(), ...carried },
      body,
    );
  }

  async block(bodyId: string, number: number, ...rows: readonly string[]): Promise<void> {
    await this.project(1, [await this.sendingBlock(bodyId, number, rows)]);
  }

  async addBody(tableId: string, bodyId: string, blocks: number): Promise<RowAddress> {
    return addressIn(await this.#projectRows(this.#adding(tableId, { kind: 'body', bodyId, blocks })));
  }

  async overwriting(tableId: string, ...rows: readonly string[]): Promise<EncodedEvent> {
    const { source, body } = await sourceOf(rows, 'few');
    return this.event(
      {
        type: 'TableOverwriteRequested',
        teamId: this.id,
        tableId,
        ifMatch: null,
        columns: null,
        onSchemaError: 'updateSchema',
        limits,
        rows: source,
      },
      body,
    );
  }

  overwritingByBody(tableId: string, bodyId: string, blocks: number): EncodedEvent {
    return this.event({
      type: 'TableOverwriteRequested',
      teamId: this.id,
      tableId,
      ifMatch: null,
      columns: null,
      onSchemaError: 'updateSchema',
      limits,
      rows: { kind: 'body', bodyId, blocks },
    });
  }

  async patching(tableId: string, row: RowAddress, text: string): Promise<EncodedEvent> {
    const {
      block: { profile, body },
    } = readPatchRow(Buffer.from(text));
    return this.event(
      {
        type: 'RowPatchRequested',
        teamId: this.id,
        tableId,
        row,
        ifMatch: null,
        onSchemaError: 'updateSchema',
        limits,
        profile,
      },
      await packBody(body),
    );
  }

  async patch(tableId: string, row: RowAddress, ...texts: readonly string[]): Promise<void> {
    await this.project(1, await Promise.all(texts.map((text) => this.patching(tableId, row, text))));
  }

  deletingRow(tableId: string, row: RowAddress): EncodedEvent {
    return this.event({ type: 'RowDeleteRequested', teamId: this.id, tableId, row, ifMatch: null });
  }

  async deleteRow(tableId: string, row: RowAddress): Promise<void> {
    await this.project(1, [this.deletingRow(tableId, row)]);
  }

  /** Changes the schema. */
  renamingColumn(tableId: string, displayName: string): EncodedEvent {
    return this.event({
      type: 'TablePatchRequested',
      teamId: this.id,
      tableId,
      ifMatch: null,
      name: null,
      columns: [{ id: 'n', displayName }],
    });
  }

  changingColumns(tableId: string, changes: Partial<RequestedColumnChanges>): EncodedEvent {
    const none = { remove: [], change: [], add: [], order: [], columnsMax: 1000, tried: null } as const;
    return this.event({
      type: 'TablePatchRequested',
      teamId: this.id,
      tableId,
      ifMatch: null,
      name: null,
      columns: [],
      columnChanges: { ...none, onMisfit: 'abort', ...changes },
    });
  }

  deletingTable(tableId: string): EncodedEvent {
    return this.event({ type: 'TableDeleteRequested', teamId: this.id, tableId, ifMatch: null });
  }
}

type EventRowsSource = Exclude<RowSource, { readonly kind: 'stash' }>;

async function sourceOf(
  rows: readonly string[],
  kind: 'few' | 'block',
): Promise<{ source: EventRowsSource; body?: PackedBody }> {
  if (rows.length === 0) return { source: { kind: 'none' } };
  const { carried, body } = await packRows(rows);
  return { source: kind === 'few' ? { kind, ...carried } : { kind, ...carried, segmentId: randomUUID() }, body };
}

function addressIn(ranges: readonly RowRange[]): RowAddress {
  const { version, ordinal, first } = ranges[0]!;
  return { version, ordinal, index: first };
}
