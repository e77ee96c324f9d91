/**
 * What the log means. The projector takes records in the log's order and, within one transaction of the caller, decides
 * them and stores what they change, with the outcomes and the progress (ARCHITECTURE.md, "How a batch is projected").
 *
 * Both logs and replay call it. It gives the same state however the records are cut into batches.
 */
import { createHash } from 'node:crypto';
import type { PipelinedClient, Statement } from '../src/database/pipelined-client.ts';
import { decodeEvent } from '../src/events/event-codec.ts';
import type { Event } from '../src/events/event.ts';
import type { Outcome } from '../src/events/outcome.ts';
import type { CommandId, LogRecord } from '../src/log/event-log.ts';
import type { BatchState } from './batch-state.ts';
import { decide } from './decide.ts';
import { outcomeLife, storeOutcomes, type RecordedOutcome } from './outcomes/outcomes.store.ts';
import { prefetch } from './prefetch.ts';
import type { Prefetched } from './prefetch.ts';
import { fillSegment } from './segments/fill-segment.ts';
import { LocalKeys } from './segments/local-keys.ts';
import { storeBodyBlocks } from './segments/segments.store.ts';
import { SchemaCache } from './tables/schema-cache.ts';
import {
  storeAppLinks, storeChanges, storeLinks, storeSchemas, storeTables, storeTailRows,
} from './tables/tables.store.ts';
import { storeTeams, storeTokens } from './teams/teams.store.ts';

type Tx = Pick<PipelinedClient, 'query'>;

/** Somebody else has projected these records, or took the partition over: this transaction must be rolled back. */
export class ProgressMoved extends Error {
  override readonly name = 'ProgressMoved';
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

const advanceProgress: Statement = {
  name: 'advance_progress',
  text: `update progress set next = $3, time = $4, last_hash = $5, log_id = coalesce($6::uuid, log_id), base = coalesce($7, base)
    where partition = $1 and next = $2 and epoch = $8 returning base`,
};

export class Projector {
  readonly #keys = new LocalKeys();
  readonly #schemas = new SchemaCache();

  /**
   * Projects records that follow each other, the first at the progress of the partition. Never opens a transaction: the
   * caller commits, or rolls back when this throws or when `stored` rejects. Throws ProgressMoved when the progress is
   * elsewhere, anything else on bugs only.
   */
  async project(
    tx: Tx,
    partition: number,
    records: readonly LogRecord[],
    epoch = 0n,
  ): Promise<Projected> {
    const entries = records.map((record): Entry => ({ record, event: decodeEvent(record.bytes) }));
    const advanced = this.#advance(tx, partition, entries, epoch);
    const outcomes = new Map<CommandId, Outcome>();
    let stored: Promise<void> | null = null;
    for (const run of independentRuns(entries)) {
      const events = run.map((entry) => entry.event);
      const fetching = prefetch(tx, partition, events, this.#keys, stored === null ? this.#schemas : null);
      fetching.catch(() => undefined);
      const base = await advanced;
      const fetched = await fetching;
      await stored;
      stored = store(tx, partition, fetched, decideRun(fetched, partition, run, base, outcomes));
      stored.catch(() => undefined);
    }
    return { outcomes, stored: stored! };
  }

  /** Moves the progress over all of the records, and gives the partition's base. */
  async #advance(tx: Tx, partition: number, entries: readonly Entry[], epoch: bigint): Promise<bigint> {
    const first = entries[0]!.record;
    const last = entries.at(-1)!.record;
    const genesis = entries.find(({ event }) => event.data.type === 'GenerationStarted')?.event.data;
    const started = genesis?.type === 'GenerationStarted' ? genesis : null;
    const { rows } = await tx.query(advanceProgress, [
      partition, first.offset, last.offset + 1n, last.time, hashOf(last.bytes), started?.logId ?? null,
      started?.base ?? null, epoch,
    ]);
    if (rows.length === 0) throw new ProgressMoved(`partition ${partition} is not at offset ${first.offset}`);
    return rows[0]![0] as bigint;
  }
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

/** Sends all the statements that the batch's net changes need, together, and waits for them. */
async function store(
  tx: Tx,
  partition: number,
  { state, toFill }: Prefetched,
  outcomes: readonly RecordedOutcome[],
): Promise<void> {
  const { changed } = state;
  const sent: Promise<unknown>[] = toFill.map((segment) => fillSegment(tx, segment));
  const send = <T>(things: readonly T[], storeThem: (tx: Tx, things: readonly T[]) => Promise<unknown>): void => {
    if (things.length > 0) sent.push(storeThem(tx, things));
  };
  send(state.changedTeams(), storeTeams);
  send(state.changedTokens(), storeTokens);
  send(state.changedTables(), storeTables);
  send(changed.schemas, storeSchemas);
  send(changed.appLinks, storeAppLinks);
  send(state.changedLinks(), storeLinks);
  send(changed.tailRows, storeTailRows);
  send(state.changedRows(), storeChanges);
  send(changed.bodyBlocks, storeBodyBlocks);
  send(outcomes, (to, things) => storeOutcomes(to, partition, things));
  await Promise.all(sent);
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
