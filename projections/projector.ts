/**
 * What the log means. The projector takes records in the log's order and, within one transaction of the caller, decides
 * them and stores what they change, with the outcomes and the progress (ARCHITECTURE.md, "How a batch is projected").
 *
 * Both logs and replay call it. It gives the same state however the records are cut into batches.
 */
import { createHash } from 'node:crypto';
import { bind, combine, type BoundStatement } from '../src/database/combine.ts';
import type { PipelinedClient, Statement } from '../src/database/pipelined-client.ts';
import { decodeEvent } from '../src/events/event-codec.ts';
import type { Event, EventOf } from '../src/events/event.ts';
import type { Outcome } from '../src/events/outcome.ts';
import type { CommandId, LogRecord } from '../src/log/event-log.ts';
import { BatchMemory } from './batch-memory.ts';
import { decide } from './decide.ts';
import { outcomeLife, storeOutcomes, type RecordedOutcome } from './outcomes/outcomes.store.ts';
import { prefetch } from './prefetch.ts';
import type { Prefetched, PrefetchOptions } from './prefetch.ts';
import { fillSegment } from './segments/fill-segment.ts';
import { LocalKeys } from './segments/local-keys.ts';
import { storeBodyBlocks } from './segments/segments.store.ts';
import { SchemaCache } from './tables/schema-cache.ts';
import {
  insertNewTables, storeAppLinks, storeChanges, storeLinks, storeSchemas, storeTables, storeTailRows,
} from './tables/tables.store.ts';
import { storeTeams, storeTokens } from './teams/teams.store.ts';

type Tx = Pick<PipelinedClient, 'query'>;

/** Somebody else has projected these records, or took the partition over: this transaction must be rolled back. */
export class ProgressMoved extends Error {
  override readonly name = 'ProgressMoved';
}

export type Duplicates = 'replace' | 'fail';

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

/** A record, and the event that its bytes hold. */
interface Entry {
  readonly record: LogRecord;
  readonly event: Event;
}

/** What a batch comes to if it is stored at the place where it was decided. */
export interface Plan {
  readonly outcomes: ReadonlyMap<CommandId, Outcome>;
  /** All of it: the progress first, then what changes. To be run as one statement, or in one transaction. */
  readonly statements: readonly BoundStatement[];
  /** To be called once that is committed: the next batch need not fetch what this one knows. */
  readonly committed: () => void;
}

const advanceProgress: Statement = {
  name: 'advance_progress',
  text: `update progress set next = $3, time = $4, last_hash = $5, log_id = coalesce($6::uuid, log_id), base = coalesce($7, base)
    where partition = $1 and next = $2 and epoch = $8 returning base`,
};

export class Projector {
  readonly #keys = new LocalKeys();
  readonly #schemas = new SchemaCache();
  readonly #memories = new Map<number, BatchMemory>();
  /** The base of each partition, once it is known to be committed. */
  readonly #bases = new Map<number, bigint>();

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
    this.#memories.delete(partition);
    const entries = records.map(toEntry);
    const advanced = this.#advance(tx, partition, entries, epoch);
    const outcomes = new Map<CommandId, Outcome>();
    let stored: Promise<void> | null = null;
    for (const run of independentRuns(entries)) {
      const schemas = stored === null ? this.#schemas : null;
      const fetching = this.#prefetch(tx, partition, run, duplicates, { schemas, memory: null });
      fetching.catch(() => undefined);
      const base = await advanced;
      // When storing the run before failed, that is the error to report: what was asked for after it fails in its wake.
      await stored;
      const fetched = await fetching;
      stored = store(tx, partition, fetched, decideRun(fetched, partition, run, base, outcomes), duplicates);
      stored.catch(() => undefined);
    }
    return { outcomes, stored: stored! };
  }

  /**
   * Decides records that may come to stand at the progress of the partition, and leaves it to the caller to store the
   * result: it holds only if the progress is still there then, because nothing else moves what decisions read. Null when
   * it takes more than one statement, or when the partition has not been projected by this process yet.
   */
  async plan(
    reader: Tx,
    partition: number,
    records: readonly LogRecord[],
    { epoch = 0n, duplicates = 'replace' }: ProjectOptions = {},
  ): Promise<Plan | null> {
    const base = this.#bases.get(partition);
    const entries = records.map(toEntry);
    const [run, ...more] = independentRuns(entries);
    if (base === undefined || more.length > 0) return null;
    const next = records[0]!.offset;
    const remembered = this.#memories.get(partition) ?? null;
    this.#memories.delete(partition);
    const memory = remembered?.next === next ? remembered : null;
    const fetched = await this.#prefetch(reader, partition, run!, duplicates, { schemas: this.#schemas, memory });
    if (fetched.toFill.length > 0) return null;
    const outcomes = new Map<CommandId, Outcome>();
    const fresh = decideRun(fetched, partition, run!, base, outcomes);
    const advance = bind(advanceProgress, advanceValues(partition, entries, epoch));
    const committed = (): void => {
      const kept = new BatchMemory(next + BigInt(records.length), memory);
      fetched.state.keepIn(kept);
      this.#memories.set(partition, kept);
    };
    return { outcomes, statements: [advance, ...changesOf(partition, fetched, fresh, duplicates)], committed };
  }

  #prefetch(
    tx: Tx,
    partition: number,
    run: readonly Entry[],
    duplicates: Duplicates,
    known: Pick<PrefetchOptions, 'schemas' | 'memory'>,
  ): Promise<Prefetched> {
    const events = run.map((entry) => entry.event);
    return prefetch(tx, partition, events, { ...known, keys: this.#keys, allOutcomes: duplicates === 'replace' });
  }

  /** Moves the progress over all of the records, and gives the partition's base. */
  async #advance(tx: Tx, partition: number, entries: readonly Entry[], epoch: bigint): Promise<bigint> {
    const { rows } = await tx.query(advanceProgress, advanceValues(partition, entries, epoch));
    if (rows.length === 0) {
      throw new ProgressMoved(`partition ${partition} is not at offset ${entries[0]!.record.offset}`);
    }
    const base = rows[0]![0] as bigint;
    if (!genesisOf(entries)) this.#bases.set(partition, base);
    return base;
  }
}

function toEntry(record: LogRecord): Entry {
  return { record, event: decodeEvent(record.bytes) };
}

function genesisOf(entries: readonly Entry[]): EventOf<'GenerationStarted'> | null {
  const genesis = entries.find(({ event }) => event.data.type === 'GenerationStarted')?.event.data;
  return genesis?.type === 'GenerationStarted' ? genesis : null;
}

function advanceValues(partition: number, entries: readonly Entry[], epoch: bigint): unknown[] {
  const first = entries[0]!.record;
  const last = entries.at(-1)!.record;
  const genesis = genesisOf(entries);
  return [
    partition, first.offset, last.offset + 1n, last.time, hashOf(last.bytes), genesis?.logId ?? null,
    genesis?.base ?? null, epoch,
  ];
}

/** Decides the events of a run in order, adds their outcomes to `outcomes`, and gives those that are new. */
function decideRun(
  { state, outcomes: known }: Prefetched,
  partition: number,
  run: readonly Entry[],
  base: bigint,
  outcomes: Map<CommandId, Outcome>,
): RecordedOutcome[] {
  const recorded = new Map(known.map((outcome) => [outcome.commandId, outcome]));
  const fresh = new Map<string, RecordedOutcome>();
  for (const { record, event } of run) {
    const { commandId, notAfter, requestDigest } = event;
    const before = recorded.get(commandId);
    if (before && record.time - before.time < outcomeLife) {
      outcomes.set(commandId, before.outcome);
      continue;
    }
    if (notAfter !== null && record.time > notAfter) continue;

    const place = { partition, offset: record.offset, version: base + record.offset, time: record.time };
    const decision = decide(state, event, place);
    state.apply(decision.changes);
    const outcome = { ...decision.outcome, requestDigest: requestDigest ?? undefined };
    const entry = { commandId, offset: record.offset, time: record.time, outcome };
    outcomes.set(commandId, outcome);
    recorded.set(commandId, entry);
    fresh.set(commandId, entry);
  }
  return [...fresh.values()];
}

/** Sends what the batch's net changes need, as one statement, and waits for it. */
async function store(
  tx: Tx,
  partition: number,
  fetched: Prefetched,
  outcomes: readonly RecordedOutcome[],
  duplicates: Duplicates,
): Promise<void> {
  const sent: Promise<unknown>[] = fetched.toFill.map((segment) => fillSegment(tx, segment));
  const changes = changesOf(partition, fetched, outcomes, duplicates);
  if (changes.length > 0) {
    const { statement, values } = combine(changes);
    sent.push(tx.query(statement, values));
  }
  await Promise.all(sent);
}

/** The net changes of a batch: a statement for each kind of thing that changed. */
function changesOf(
  partition: number,
  { state }: Prefetched,
  outcomes: readonly RecordedOutcome[],
  duplicates: Duplicates,
): BoundStatement[] {
  const { changed } = state;
  const parts: BoundStatement[] = [];
  const add = <T>(things: readonly T[], bindThem: (things: readonly T[]) => BoundStatement): void => {
    if (things.length > 0) parts.push(bindThem(things));
  };
  add(state.changedTeams(), storeTeams);
  add(state.changedTokens(), storeTokens);
  add(state.newTables(), insertNewTables);
  add(state.changedTables(), storeTables);
  add(changed.schemas, storeSchemas);
  add(changed.appLinks, storeAppLinks);
  add(state.changedLinks(), storeLinks);
  add(changed.tailRows, storeTailRows);
  add(state.changedRows(), storeChanges);
  add(changed.bodyBlocks, storeBodyBlocks);
  add(outcomes, (things) => storeOutcomes(partition, things, duplicates));
  return parts;
}

/**
 * Cuts a batch where an event needs what could not be fetched before an earlier one is stored: a row of a block that
 * this very batch links. Nothing depends on where a batch is cut.
 */
function independentRuns(entries: readonly Entry[]): Entry[][] {
  const runs: Entry[][] = [];
  let run: Entry[] = [];
  let linked = new Set<string>();
  for (const entry of entries) {
    const { data } = entry.event;
    if ('row' in data && linked.has(data.tableId)) {
      runs.push(run);
      run = [];
      linked = new Set();
    }
    run.push(entry);
    if ('rows' in data && (data.rows.kind === 'block' || data.rows.kind === 'body')) linked.add(data.tableId);
  }
  runs.push(run);
  return runs;
}

function hashOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
