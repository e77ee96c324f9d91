/** Finds out whether a batch was committed if the answer to its commit was lost. */
import { endBackend } from '../../storage/database/end-backend.ts';
import type { PipelinedClient } from '../../storage/database/pipelined-client.ts';
import { begin, rollback } from '../../storage/database/transaction.ts';
import { teamOf } from '../../language/events/event-names.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { LogRecord } from '../event-log.ts';
import { hashOf } from '../identity.ts';
import { selectHashes, lockHead } from './statements.ts';
import { findProgressAndOutcomes } from '../outcomes/outcomes.store.ts';
import { answersAttempt } from '../outcomes/recorded-outcome.ts';

/**
 * The result for a record whose commit was not answered. `held`: the record is in the log, and its team is in
 * quarantine. Null: it has no effect.
 */
export type Fate = Outcome | 'held' | null;

/** A commit was sent and not answered. It may have succeeded, or may still succeed. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
  readonly backendId: number;
  /** When the commit was sent, by `performance.now`. */
  readonly sent: number;
  /** The records that the commit would have appended. */
  readonly records: readonly LogRecord[];

  constructor(tx: PipelinedClient, sent: number, records: readonly LogRecord[], cause: unknown) {
    super('no answer to a commit', { cause });
    this.backendId = tx.backendId;
    this.sent = sent;
    this.records = records;
  }
}

/**
 * The result for each record of a batch with these commands. It is conclusive, because this first waits until the
 * backend of the connection has ended, and then locks the head. Null while that backend still runs, and while a record
 * is in the log but the read model is behind it.
 */
export async function findCommitted(
  tx: PipelinedClient,
  partition: number,
  commandIds: readonly string[],
  { backendId, sent, records }: CommitUnknown,
): Promise<readonly Fate[] | null> {
  const ended = await tx.query(endBackend, [backendId, (performance.now() - sent) / 1000]);
  if (ended.rows[0]?.ended === false) return null;
  void tx.query(begin);
  await tx.query(lockHead, [partition]);
  // In one snapshot, because a release decides held events and ends the quarantine.
  const { next, held, outcomes } = await findProgressAndOutcomes(tx, partition, commandIds);
  const byCommand = new Map(outcomes.map((recorded) => [recorded.commandId, recorded]));
  const decided = records.map((place, at) => {
    const recorded = byCommand.get(commandIds[at]!);
    return recorded && answersAttempt(recorded, { place, notAfter: null }) ? recorded.outcome : null;
  });
  // If a record was projected, is not held and has no outcome, it has no effect, wherever it is.
  const isHeld = ({ event }: LogRecord): boolean => held.since.has(teamOf(event!.data));
  const doubtful = records.filter((record, at) => decided[at] === null && (record.offset >= next || isHeld(record)));
  const inLog = await findInLog(tx, partition, doubtful);
  await tx.query(rollback);
  if (doubtful.some((record) => inLog.has(record) && !isHeld(record))) return null;
  return records.map((record, at) => decided[at] ?? (inLog.has(record) ? 'held' : null));
}

/** The records of the batch that are in the log. Another process may have appended other records at their offsets. */
async function findInLog(
  tx: PipelinedClient,
  partition: number,
  records: readonly LogRecord[],
): Promise<ReadonlySet<LogRecord>> {
  if (records.length === 0) return new Set();
  const { rows } = await tx.query(selectHashes, [partition, records.map(({ offset }) => offset)]);
  const hashes = new Map(rows.map(({ offset, hash }) => [offset, hash]));
  return new Set(records.filter((record) => hashes.get(record.offset)?.equals(hashOf(record))));
}
