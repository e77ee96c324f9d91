/**
 * Clients of a simulated deployment. Each writes and reads rows of the table of a team, and records its calls for the
 * checker.
 */
import { createHash, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { batch } from '../../commands/batch.ts';
import { encodeEvent } from '../../src/language/events/event-codec.ts';
import type { EventData } from '../../src/language/events/event.ts';
import type { RowRange } from '../../src/language/events/outcome.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import { readBatch } from '../../src/language/formats/read-batch.ts';
import { readPatchRow } from '../../src/language/formats/read-patch-row.ts';
import { HttpError } from '../../src/api/http/answers/http-error.ts';
import { NotAppended, ProjectionBug } from '../../src/log/event-log.ts';
import { partitionOf } from '../../src/log/partition.ts';
import { isDatabaseAway } from '../../src/storage/database/database-away.ts';
import { lostMessage } from '../../src/api/http/submit/jobs.ts';
import type { Applied } from '../../src/api/http/submit/submitter.ts';
import type { Operation, WriteOutcome } from '../support/history.ts';
import { Recorder } from '../faults/recorded-table.ts';
import type { Random } from '../support/random.ts';
import { clock } from './clock.ts';
import { partitions } from './partitions.ts';
import type { Place, Serving } from './place.ts';
import { refusedRowsCode } from './stored-rows.ts';
import type { Waits } from './waits.ts';
import type { World } from './world.ts';

const limits = { rowsPerTableMax: 1000, columnsMax: 100, rowBytesMax: 10_000 };

/** Answers that mean that nothing happened. */
const refusals = new Set(['key_not_unique', 'row_not_found', 'service_unavailable', 'table_not_found']);

interface Row {
  readonly id: string;
  readonly address: RowAddress;
}

/** The state that the clients of all teams share. */
export class Load {
  /** The reasons why no client sends requests; empty while they do. */
  readonly #quiet = new Set<symbol>();

  get isQuiet(): boolean {
    return this.#quiet.size > 0;
  }

  /** Stops all requests until the returned function is called. */
  silence(): () => void {
    const reason = Symbol('quiet');
    this.#quiet.add(reason);
    return () => this.#quiet.delete(reason);
  }
}

/** How many different claims rows may have. Each is the whole key of its row. */
const claims = 12;

/**
 * The claim that is written with a value: one of a few, null or none. It follows from the value, so that histories draw
 * the same random numbers with and without a key.
 */
function claimOf(value: string): { readonly claim?: string | null } {
  const number = createHash('sha256').update(value).digest()[0]! % (2 * claims);
  return number < claims ? { claim: `claim ${number}` } : number === claims ? { claim: null } : {};
}

/** The table of a team, and the rows that the clients of the team know. */
export class SharedTable {
  readonly teamId: string;
  readonly tableId: string;
  readonly partition: number;
  readonly recorder = new Recorder();
  /** Rows that no client deletes. */
  readonly rows: Row[] = [];
  readonly load: Load;
  /** Whether no two rows may have the same claim. */
  readonly hasKey: boolean;

  /** `partition`: the partition of the team. */
  constructor(random: Random, partition: number, load: Load, hasKey: boolean) {
    let teamId = random.uuid();
    while (partitionOf(teamId, partitions) !== partition) teamId = random.uuid();
    this.teamId = teamId;
    this.tableId = random.uuid();
    this.partition = partition;
    this.load = load;
    this.hasKey = hasKey;
  }

  /** The cells of a row or a patch that writes this value. */
  cellsOf(value: string): { readonly value: string; readonly claim?: string | null } {
    return this.hasKey ? { value, ...claimOf(value) } : { value };
  }
}

/** The record of a patch that no client of this history sends. */
export function foreignPatch({ teamId, tableId }: SharedTable, { address: row }: Row, value: string): Uint8Array {
  const { block } = readPatchRow(Buffer.from(JSON.stringify({ value })));
  const data: EventData = {
    type: 'RowPatchRequested',
    teamId,
    tableId,
    row,
    ifMatch: null,
    onSchemaError: 'abort',
    limits,
    profile: block.profile,
  };
  return encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data, {
    codec: 0,
    bytes: block.body,
  }).bytes;
}

export class SimulatedClient {
  readonly #name: string;
  readonly #random: Random;
  readonly #places: readonly Place[];
  readonly #table: SharedTable;
  readonly #waits: Waits;
  #values = 0;
  readonly #own: Row[] = [];

  constructor(name: string, { random, waits }: World, places: readonly Place[], table: SharedTable) {
    this.#name = name;
    this.#random = random;
    this.#places = places;
    this.#table = table;
    this.#waits = waits;
  }

  /** Creates the team and the table, and adds some rows, however long that takes. */
  async prepare(rows: number): Promise<void> {
    const { teamId, tableId, hasKey } = this.#table;
    const team: EventData = { type: 'TeamCreated', teamId, name: 'team' };
    const table: EventData = {
      type: 'TableCreateRequested',
      teamId,
      tableId,
      name: 'table',
      columns: (hasKey ? ['value', 'claim'] : ['value']).map((id) => ({ id, type: 'string' })),
      ...(hasKey ? { key: ['claim'] } : {}),
      onSchemaError: 'abort',
      appsToLink: null,
      limits,
      rows: { kind: 'none' },
    };
    for (const data of [team, table]) await this.#untilApplied(data);
    while (this.#table.rows.length < rows) this.#table.rows.push(...(await this.add()));
  }

  /** Takes one step, chosen at random. */
  async step(): Promise<void> {
    const random = this.#random;
    if (this.#table.load.isQuiet) return;
    const row = random.pick(this.#table.rows);
    const kind = random.below(23);
    if (kind < 9) {
      const version = await this.read(row);
      if (version !== null) await this.patch(row, random.chance(0.8) ? version : null);
    } else if (kind < 11) await this.patch(row, null);
    else if (kind < 15) this.#own.push(...(await this.add()));
    else if (kind < 17) {
      const own = this.#own.pop();
      if (own) await this.delete(own);
    } else if (kind < 18) await this.head();
    else if (kind < 21) await this.batch(row, random.pick(this.#table.rows));
    else await this.read(row);
  }

  async read(row: Row): Promise<bigint | null> {
    const { teamId, tableId } = this.#table;
    const operation = await this.#record(async (serving) => {
      const found = await serving.queries.tables.rows.row(teamId, tableId, row.address);
      if (found === 'row_not_found') return { kind: 'read', row: row.id, seen: null };
      if (typeof found === 'string') throw new Error(`a read is answered ${found}`);
      return { kind: 'read', row: row.id, seen: { version: found.etag, value: JSON.parse(found.json).value } };
    });
    return operation?.kind === 'read' ? (operation.seen?.version ?? null) : null;
  }

  async head(): Promise<void> {
    const { teamId, tableId } = this.#table;
    await this.#record(async (serving) => {
      const version = await serving.queries.tables.tables.version(teamId, tableId);
      return version === null ? null : { kind: 'head', version };
    });
  }

  /** Adds a row through one process, or through any. Returns nothing unless the row is known to be added. */
  async add(place: Place | null = null): Promise<readonly Row[]> {
    const value = this.#newValue();
    const { teamId, tableId } = this.#table;
    const { block } = readPatchRow(Buffer.from(JSON.stringify(this.#table.cellsOf(value))));
    const added: Row[] = [];
    await this.#write(
      (applied) => {
        const { version, ordinal, first } = applied.result.rows![0]!;
        const address = { version, ordinal, index: first };
        added.push({ id: formatRowId(address), address });
      },
      {
        type: 'RowsAddRequested',
        teamId,
        tableId,
        ifMatch: null,
        onSchemaError: 'abort',
        limits,
        rows: { kind: 'few', profile: block.profile },
      },
      block.body,
      (outcome) => ({ kind: 'add', values: [value], rows: added.map(({ id }) => id), outcome }),
      place,
    );
    return added;
  }

  async patch({ id: row, address }: Row, ifMatch: bigint | null): Promise<void> {
    const value = this.#newValue();
    const { teamId, tableId } = this.#table;
    const { block } = readPatchRow(Buffer.from(JSON.stringify(this.#table.cellsOf(value))));
    await this.#write(
      () => undefined,
      {
        type: 'RowPatchRequested',
        teamId,
        tableId,
        row: address,
        ifMatch,
        onSchemaError: 'abort',
        limits,
        profile: block.profile,
      },
      block.body,
      (outcome) => ({ kind: 'patch', row, value, ifMatch, outcome }),
    );
  }

  /** Patches two rows and adds one; it is refused if both are the same, because the first patch changes the row. */
  async batch(first: Row, second: Row): Promise<void> {
    const [added, ...values] = Array.from({ length: 3 }, () => this.#newValue());
    const { teamId, tableId } = this.#table;
    const cellsOf = (value: string): object => this.#table.cellsOf(value);
    const patches = [first, second].map(({ id }, at) => ({ op: 'patch', rowID: id, row: cellsOf(values[at]!) }));
    if (first === second) Object.assign(patches[1]!, { ifMatch: '1' });
    const operations = [patches[0], { op: 'add', row: cellsOf(added!) }, patches[1]];
    const read = readBatch(Buffer.from(JSON.stringify({ operations })));
    let row: string | null = null;
    await this.#write(
      ({ result }) => {
        row = rowIdOf(result.rows!, 1);
      },
      batch({ teamId, tableId, ifMatch: null, body: read, limits }),
      read.block!.body,
      (outcome) => ({
        kind: 'batch',
        parts: [
          { kind: 'add', row, value: added! },
          { kind: 'patch', row: first.id, value: values[0]! },
          { kind: 'patch', row: second.id, value: values[1]! },
        ],
        outcome,
      }),
    );
  }

  async delete({ id: row, address }: Row): Promise<void> {
    const { teamId, tableId } = this.#table;
    await this.#write(
      () => undefined,
      { type: 'RowDeleteRequested', teamId, tableId, row: address, ifMatch: null },
      undefined,
      (outcome) => ({ kind: 'delete', row, ifMatch: null, outcome }),
    );
  }

  #anyPlace(): Place {
    return this.#random.pick(this.#places);
  }

  #newValue(): string {
    this.#values += 1;
    return `${this.#name}.${this.#values}`;
  }

  async #untilApplied(data: EventData): Promise<void> {
    const commandId = this.#random.uuid();
    while ((await this.#submit(null, data, undefined, commandId, () => undefined)).status !== 'applied')
      await clock.sleep(500);
  }

  /**
   * Writes to one process, once; or to any process, either once or, like a client with an Idempotency-Key, repeatedly
   * while the outcome is unknown.
   */
  async #write(
    onApplied: (applied: Applied) => void,
    data: EventData,
    body: Uint8Array | undefined,
    operationOf: (outcome: WriteOutcome) => Operation,
    place: Place | null = null,
  ): Promise<void> {
    const commandId = this.#random.uuid();
    const repeats = place === null && this.#random.chance(0.5) ? 6 : 0;
    await this.#table.recorder.record(this.#name, async () => {
      let outcome = await this.#submit(place, data, body, commandId, onApplied);
      for (let repeat = 0; repeat < repeats && outcome.status === 'unknown'; repeat += 1) {
        await clock.sleep(this.#random.between(100, 3000));
        const next = await this.#submit(place, data, body, commandId, onApplied);
        // A refusal because the service is away does not count, because the first attempt may have been accepted.
        if (next.status !== 'refused' || next.changed) outcome = next;
      }
      return operationOf(outcome);
    });
  }

  /** Sends a command to one process, or to any. If the answer names a job, polls the job in half of the cases. */
  async #submit(
    at: Place | null,
    data: EventData,
    body: Uint8Array | undefined,
    commandId: string,
    onApplied: (applied: Applied) => void,
  ): Promise<WriteOutcome> {
    while (this.#table.load.isQuiet) await clock.sleep(100);
    const place = at ?? this.#anyPlace();
    const { serving } = place;
    if (serving === null) return { status: 'refused', changed: false };
    const digest = createHash('sha256').update(commandId);
    try {
      const packed = body === undefined ? undefined : { codec: 0, bytes: body };
      const submitting = serving.submitter.submit(this.#table.teamId, { commandId, digest }, data, packed);
      const applied = await this.#waits.during(
        `${this.#name}'s ${data.type} at ${place.name}`,
        Promise.race([submitting, place.ended.promise]),
      );
      onApplied(applied);
      return { status: 'applied', version: applied.etag };
    } catch (error) {
      if (error instanceof NotAppended || isRefusedByModel(error)) return { status: 'refused', changed: false };
      if (error instanceof HttpError) {
        if (error.type === 'precondition_failed') return { status: 'refused', changed: true };
        if (refusals.has(error.type)) return { status: 'refused', changed: false };
        if (error.type !== 'outcome_unknown') this.#table.recorder.unexpected.push(`${error.type}: ${error.message}`);
        else if (at === null && this.#random.chance(0.5)) return this.#askForJob(error.headers['job-id']!);
      } else if (!place.hasEnded(serving)) this.#table.recorder.unexpected.push(inspect(error));
      return { status: 'unknown' };
    }
  }

  /**
   * Polls the job of a request until it has ended. If the request never reached the log, that is certain. A success
   * does not show the version.
   */
  async #askForJob(jobId: string): Promise<WriteOutcome> {
    for (let count = 0; count < 100; count += 1) {
      await clock.sleep(2000);
      const { serving, ended, name } = this.#random.pick(this.#places);
      if (serving === null) continue;
      const finding = Promise.race([serving.jobs.find(this.#table.teamId, jobId), ended.promise]);
      const found = await this.#waits
        .during(`${this.#name}'s question for a job at ${name}`, finding)
        .catch(() => null);
      if (found?.state.status === 'failed' && found.state.message === lostMessage)
        return { status: 'refused', changed: false };
      if (found !== null && found.state.status !== 'running') break;
    }
    return { status: 'unknown' };
  }

  #record(work: (serving: Serving) => Promise<Operation | null>): Promise<Operation | null> {
    const place = this.#anyPlace();
    return this.#table.recorder.record(this.#name, async () => {
      const { serving } = place;
      if (serving === null) return null;
      try {
        return await this.#waits.during(
          `${this.#name}'s read at ${place.name}`,
          Promise.race([work(serving), place.ended.promise]),
        );
      } catch (error) {
        if (!isDatabaseAway(error) && !place.hasEnded(serving)) throw error;
        return null;
      }
    });
  }
}

/**
 * Whether Postgres refused the rows of a write, as faults make it do (`refuses`), while the log was there. Then the
 * event is not in the log. With the log in Kafka its partition halts.
 */
function isRefusedByModel(error: unknown): boolean {
  return error instanceof ProjectionBug && (error.cause as { readonly code?: unknown }).code === refusedRowsCode;
}

/** The ID of the row at a place among these ranges. */
function rowIdOf(ranges: readonly RowRange[], place: number): string {
  let before = 0;
  for (const { version, ordinal, first, count } of ranges) {
    if (place < before + count) return formatRowId({ version, ordinal, index: first + place - before });
    before += count;
  }
  throw new Error(`there is no row ${place}`);
}
