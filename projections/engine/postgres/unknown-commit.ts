/** Finds out whether a batch was committed when the answer to its commit was lost. */
import type { PipelinedClient } from '../../../src/database/pipelined-client.ts';
import { begin, rollback } from '../../../src/database/transaction.ts';
import { findOutcomes } from '../outcomes/outcomes.store.ts';
import { stillCounts, type RecordedOutcome } from '../outcomes/recorded-outcome.ts';
import { endBackend } from '../../../src/log/postgres/statements.ts';
import { lockHead } from './lock-head.ts';

/** A commit was sent and not answered: it may have taken place, or may yet. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
  readonly backendId: number;
  /** When it was sent, by `performance.now`. */
  readonly sent: number;

  constructor(tx: PipelinedClient, sent: number, cause: unknown) {
    super('no answer to a commit', { cause });
    this.backendId = tx.backendId;
    this.sent = sent;
  }
}

/**
 * The outcomes of a batch, by command ID. Conclusive, because it first waits until the backend that served the connection is gone and
 * locks the head. Null while that backend still runs. `now`: the log's time.
 */
export async function findCommitted(
  tx: PipelinedClient,
  partition: number,
  commandIds: readonly string[],
  { backendId, sent }: CommitUnknown,
  now: number,
): Promise<ReadonlyMap<string, RecordedOutcome> | null> {
  const ended = await tx.query(endBackend, [backendId, (performance.now() - sent) / 1000]);
  if (ended.rows[0]?.ended === false) return null;
  void tx.query(begin);
  await tx.query(lockHead, [partition]);
  const outcomes = await findOutcomes(tx, partition, commandIds);
  await tx.query(rollback);
  const current = outcomes.filter((outcome) => stillCounts(outcome, now));
  return new Map(current.map((outcome) => [outcome.commandId, outcome]));
}
