/** Finds out whether a batch was committed when the answer to its commit was lost. */
import { endBackend } from '../../../src/database/end-backend.ts';
import type { PipelinedClient } from '../../../src/database/pipelined-client.ts';
import { begin, rollback } from '../../../src/database/transaction.ts';
import { findOutcomes } from '../outcomes/outcomes.store.ts';
import { answersAttempt } from '../outcomes/recorded-outcome.ts';
import type { Outcome } from '../../../src/events/outcome.ts';
import type { LogRecord } from '../../../src/log/event-log.ts';
import { lockHead } from './lock-head.ts';

/** A commit was sent and not answered: it may have taken place, or may yet. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
  readonly backendId: number;
  /** When it was sent, by `performance.now`. */
  readonly sent: number;
  /** The records that it would have appended. */
  readonly records: readonly LogRecord[];

  constructor(tx: PipelinedClient, sent: number, records: readonly LogRecord[], cause: unknown) {
    super('no answer to a commit', { cause });
    this.backendId = tx.backendId;
    this.sent = sent;
    this.records = records;
  }
}

/**
 * The outcome of each record of a batch, whose commands these are; null for a record that has none. Conclusive, because it first waits
 * until the backend that served the connection is gone and locks the head. Null while that backend still runs.
 */
export async function findCommitted(
  tx: PipelinedClient,
  partition: number,
  commandIds: readonly string[],
  { backendId, sent, records }: CommitUnknown,
): Promise<readonly (Outcome | null)[] | null> {
  const ended = await tx.query(endBackend, [backendId, (performance.now() - sent) / 1000]);
  if (ended.rows[0]?.ended === false) return null;
  void tx.query(begin);
  await tx.query(lockHead, [partition]);
  const outcomes = await findOutcomes(tx, partition, commandIds);
  await tx.query(rollback);
  const byCommand = new Map(outcomes.map((recorded) => [recorded.commandId, recorded]));
  return commandIds.map((commandId, at) => {
    const recorded = byCommand.get(commandId);
    return recorded && answersAttempt(recorded, { place: records[at]!, notAfter: null }) ? recorded.outcome : null;
  });
}
