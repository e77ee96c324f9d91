import { combine, isGuardFailure, type BoundStatement } from '../../storage/database/combine.ts';
import type { Tx } from '../../storage/database/pipelined-client.ts';
import { ProgressMoved } from '../projector.ts';
import type { SpeculativeBatch } from './speculative-batch.ts';

/**
 * Stores a batch of records that are already in the log, with one statement. If the batch is no longer valid, throws
 * ProgressMoved and stores nothing.
 * @param notify a second statement to run, which must return a row; null: none
 */
export async function storeSpeculative(
  tx: Tx,
  speculative: SpeculativeBatch,
  notify: BoundStatement | null = null,
): Promise<void> {
  const [advancing, ...changing] = await speculative.statements();
  // Postgres runs a part that changes nothing only if it is one of the guards.
  const guards = notify === null ? [advancing!] : [advancing!, notify];
  const { statement, values } = combine([...guards, ...changing], guards.length);
  try {
    await tx.query(statement, values);
  } catch (error) {
    if (isGuardFailure(error)) throw new ProgressMoved('the stored progress is not the expected one');
    throw error;
  }
}
