/**
 * What the log means. The projector takes records in the log's order, decides them and stores what they change, with the
 * outcomes and the progress, all of it or nothing (ARCHITECTURE.md, "How a batch is projected").
 *
 * Both logs and replay call it. It gives the same state however the records are cut into batches.
 */
import { createHash } from 'node:crypto';
import { bind, combine, type BoundStatement } from '../src/database/combine.ts';
import type { PipelinedClient, Statement } from '../src/database/pipelined-client.ts';
import { decodeEvent } from '../src/events/event-codec.ts';
import type { Event, EventOf, RowSource } from '../src/events/event.ts';
import type { Outcome } from '../src/events/outcome.ts';
import type { CommandId, LogRecord } from '../src/log/event-log.ts';
import type { BatchMemory } from './batch-memory.ts';
import { Batch, type BatchOptions, type Duplicates, type Entry } from './batch.ts';
import { fillSegment } from './segments/fill-segment.ts';
import { LocalKeys } from './segments/local-keys.ts';
import { nameOfStash } from './stashes/stashes.store.ts';
import { SchemaCache } from './tables/schema-cache.ts';

type Tx = Pick<PipelinedClient, 'query'>;

/** Somebody else has projected these records, or took the partition over: this transaction must be rolled back. */
export class ProgressMoved extends Error {
  override readonly name = 'ProgressMoved';
}

export interface ProjectOptions {
  /** What the partition was taken over with. */
  readonly epoch?: bigint;
  /**
   * A command may have an outcome already. `replace`: that is looked up for every command. `fail`: it is looked up for
   * those with an Idempotency-Key only, and `stored` rejects (isDuplicateOutcome) when another had one too; then the
   * batch is to be rolled back and projected with `replace`. Where duplicates are rare that saves a look-up a batch.
   */
  readonly duplicates?: Duplicates;
}

export interface DraftOptions {
  /** What the batch before it left. */
  readonly memory: BatchMemory | null;
  /** What the partition was taken over with. */
  readonly epoch?: bigint;
}

/** What a partition's progress says beside how far it is. */
interface Ground {
  readonly base: bigint;
  readonly layout: bigint;
}

/** Where a draft stands, if it holds. */
interface DraftPlace extends Ground {
  readonly offset: bigint;
  readonly epoch: bigint;
}

/** What a batch came to. */
export interface Projected {
  /** The outcome of each command; none for an event that came after its `notAfter`. */
  readonly outcomes: ReadonlyMap<CommandId, Outcome>;
  /**
   * Settles when all that the batch changes is stored. The statements are on their way already, so that a COMMIT can
   * follow them in the same packet.
   */
  readonly stored: Promise<void>;
}

const advanceProgress: Statement = {
  name: 'advance_progress',
  text: `update progress set next = $3, time = $4, last_hash = $5, log_id = coalesce($6::uuid, log_id), base = coalesce($7, base)
    where partition = $1 and next = $2 and epoch = $8 and layout = coalesce($9, layout) returning base, layout`,
};

export class Projector {
  readonly #keys = new LocalKeys();
  readonly #schemas = new SchemaCache();
  /** What is known of the progress of each partition, once it is committed. */
  readonly #grounds = new Map<number, Ground>();

  /**
   * Projects records that follow each other, the first at the progress of the partition. Never opens a transaction: the
   * caller commits, or rolls back when this throws or when `stored` rejects. Throws ProgressMoved when the progress is
   * elsewhere, anything else on bugs only.
   */
  async project(
    tx: Tx,
    partition: number,
    records: readonly LogRecord[],
    { epoch = 0n, duplicates = 'replace' }: ProjectOptions = {},
  ): Promise<Projected> {
    const entries = records.map(toEntry);
    const advanced = this.#advance(tx, partition, entries, epoch);
    const outcomes = new Map<CommandId, Outcome>();
    let schemas = this.#schemas;
    let sent: Promise<unknown> = advanced;
    for (const stretch of stretchesOf(entries)) {
      const batch = this.#batch({ partition, duplicates, schemas, memory: null });
      for (const run of independentRuns(stretch)) {
        const fetching = batch.fetch(tx, run);
        fetching.catch(() => undefined);
        const base = await advanced;
        // When what was asked for before failed, that is the error to report: what comes after it fails in its wake.
        await sent;
        const toFill = await fetching;
        sent = Promise.all(toFill.map((segment) => fillSegment(tx, segment)));
        sent.catch(() => undefined);
        batch.decide(run, base);
      }
      sent = Promise.all([sent, store(tx, batch.changes())]);
      sent.catch(() => undefined);
      for (const [commandId, outcome] of batch.outcomes) outcomes.set(commandId, outcome);
      // What is fetched from here on may have been stored by this very transaction.
      schemas = new SchemaCache();
    }
    const stored = sent.then(() => undefined);
    stored.catch(() => undefined);
    return { outcomes, stored };
  }

  /**
   * Opens a batch that is to stand at this offset, and is decided before that is certain. It may follow another draft
   * that is still being stored, with the memory of that one. Null when this process has not projected the partition yet.
   */
  draft(partition: number, offset: bigint, { memory, epoch = 0n }: DraftOptions): Draft | null {
    const ground = this.#grounds.get(partition);
    if (ground === undefined) return null;
    const batch = this.#batch({ partition, duplicates: 'fail', schemas: this.#schemas, memory });
    return new Draft(partition, { ...ground, offset, epoch }, batch);
  }

  #batch(options: Omit<BatchOptions, 'keys'>): Batch {
    return new Batch({ ...options, keys: this.#keys.open() });
  }

  /** Moves the progress over all of the records, and gives the partition's base. */
  async #advance(tx: Tx, partition: number, entries: readonly Entry[], epoch: bigint): Promise<bigint> {
    const { rows } = await tx.query(advanceProgress, advanceValues(partition, entries, epoch, null));
    if (rows.length === 0) {
      throw new ProgressMoved(`partition ${partition} is not at offset ${entries[0]!.record.offset}`);
    }
    const [base, layout] = rows[0] as [bigint, bigint];
    if (!genesisOf(entries)) this.#grounds.set(partition, { base, layout });
    return base;
  }
}

/**
 * A batch that is decided ahead, event by event as they come, for the place in the log that it will have if nobody else
 * writes. It holds only if the progress is there when it is stored, because nothing else moves what decisions read.
 */
export class Draft {
  readonly #partition: number;
  readonly #place: DraftPlace;
  readonly #batch: Batch;
  readonly #entries: Entry[] = [];

  constructor(partition: number, place: DraftPlace, batch: Batch) {
    this.#partition = partition;
    this.#place = place;
    this.#batch = batch;
  }

  /** The offset behind its last record. */
  get end(): bigint {
    return this.#place.offset + BigInt(this.#entries.length);
  }

  get records(): readonly LogRecord[] {
    return this.#entries.map(({ record }) => record);
  }

  /** The same map for as long as the draft lives. */
  get outcomes(): ReadonlyMap<CommandId, Outcome> {
    return this.#batch.outcomes;
  }

  /** Fetches ahead what events will need that are likely to be added. After an exception the draft is worth nothing. */
  async foresee(reader: Tx, events: readonly Event[]): Promise<void> {
    await this.#batch.foresee(reader, events);
  }

  /**
   * Decides the records from `end` on. After an exception the draft is worth nothing: so it is when one of them needs what only
   * shows once all before it is stored.
   */
  async add(reader: Tx, records: readonly LogRecord[]): Promise<void> {
    const entries = records.map(toEntry);
    if (entries.some(needsAllStored)) throw new Error('whether rows name a file cannot be said ahead');
    for (const run of independentRuns(entries)) {
      const toFill = await this.#batch.fetch(reader, run);
      if (toFill.length > 0) throw new Error(`segment ${toFill[0]!.id} was not written ahead`);
      this.#batch.decide(run, this.#place.base);
    }
    this.#entries.push(...entries);
  }

  /** All that it changes: the progress first. To be run as one statement, or in one transaction. */
  statements(): readonly BoundStatement[] {
    const advance = bind(advanceProgress, advanceValues(this.#partition, this.#entries, this.#place.epoch, this.#place.layout));
    return [advance, ...this.#batch.changes()];
  }

  /** What the next draft need not fetch. To be called once, when nothing is added any more. */
  memory(): BatchMemory {
    return this.#batch.memory();
  }
}

function toEntry(record: LogRecord): Entry {
  return { record, event: record.event ?? decodeEvent(record.bytes) };
}

/** Sends what is to be stored as one statement. */
async function store(tx: Tx, changes: readonly BoundStatement[]): Promise<void> {
  if (changes.length === 0) return;
  const { statement, values } = combine(changes);
  await tx.query(statement, values);
}

/** The event that names the log, if this is where it begins. Anywhere else such an event says nothing. */
function genesisOf([first]: readonly Entry[]): EventOf<'GenerationStarted'> | null {
  const { record, event } = first!;
  return record.offset === 0n && event.data.type === 'GenerationStarted' ? event.data : null;
}

/** `layout`: what was known of the layout when rows were fetched ahead; null where they are fetched in the transaction. */
function advanceValues(partition: number, entries: readonly Entry[], epoch: bigint, layout: bigint | null): unknown[] {
  const first = entries[0]!.record;
  const last = entries.at(-1)!.record;
  const genesis = genesisOf(entries);
  return [
    partition, first.offset, last.offset + 1n, last.time, hashOf(last.bytes), genesis?.logId ?? null,
    genesis?.base ?? null, epoch, layout,
  ];
}

/** Whether rows name a file is found out from what is stored, wherever rows may be. */
function needsAllStored({ event }: Entry): boolean {
  return event.data.type === 'UploadChecked';
}

/**
 * Cuts records so that all before an event is stored which needs that: within the same transaction. Several of these change nothing
 * for each other. Nothing depends on where records are cut.
 */
function stretchesOf(entries: readonly Entry[]): Entry[][] {
  const stretches: Entry[][] = [];
  for (const [at, entry] of entries.entries()) {
    const begins = at === 0 || (needsAllStored(entry) && !needsAllStored(entries[at - 1]!));
    if (begins) stretches.push([entry]);
    else stretches.at(-1)!.push(entry);
  }
  return stretches;
}

/**
 * Cuts a batch where an event needs what cannot be fetched before an earlier one is decided: a row of a block that this
 * very batch links, or of a table that it overwrites; the identities that rows of blocks came with which it brings; the chunks
 * of a stash that it imports. Nothing depends on where a batch is cut.
 */
function independentRuns(entries: readonly Entry[]): Entry[][] {
  const runs: Entry[][] = [];
  let run: Entry[] = [];
  /** Tables, bodies of blocks, and stashes. */
  let linked = new Set<string>();
  for (const entry of entries) {
    const { data } = entry.event;
    const isOverwrite = data.type === 'TableOverwriteRequested';
    const needs = isOverwrite || 'row' in data ? [data.tableId] : [];
    if (isOverwrite && data.rows.kind === 'body') needs.push(data.rows.bodyId);
    if ('rows' in data && data.rows.kind === 'stash') needs.push(nameOfStash(data.teamId, data.rows.stashId));
    if (needs.some((id) => linked.has(id))) {
      runs.push(run);
      run = [];
      linked = new Set();
    }
    run.push(entry);
    if (data.type === 'BlockReceived') linked.add(data.bodyId);
    if (data.type === 'ChunkPutRequested') linked.add(nameOfStash(data.teamId, data.stashId));
    if ('rows' in data && 'tableId' in data && (isOverwrite || linkedSources.has(data.rows.kind))) linked.add(data.tableId);
  }
  runs.push(run);
  return runs;
}

/** Rows that come as segments. */
const linkedSources: ReadonlySet<RowSource['kind']> = new Set(['block', 'body', 'stash']);

function hashOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
