/**
 * Waits until the read model has all acknowledged events. A read model that is still being filled would be restored
 * incomplete.
 */
import type { Database } from '../../storage/database/database.ts';
import type { LogReader } from '../../log/event-log.ts';
import { pause } from '../../storage/pause.ts';
import { BackupError } from './backup-store.ts';

/** How long to wait, in milliseconds: longer than a projector needs to take over from one that ended. */
const patience = 30_000;

/**
 * Resolves when the read model has all events that the log had at the call. Rejects with BackupError if that takes more
 * than half a minute, and with the reason of `signal`.
 */
export async function untilCaughtUp(
  log: LogReader,
  database: Pick<Database, 'pool'>,
  signal: AbortSignal,
  waitMs = patience,
): Promise<void> {
  const ends: bigint[] = [];
  for (let partition = 0; partition < log.partitions; partition += 1) ends.push((await log.bounds(partition)).end);
  for (const deadline = performance.now() + waitMs; ;) {
    const { rows } = await database.pool.query<{ next: string }>('select next from progress order by partition');
    const missing = ends.reduce(
      (sum, end, partition) => sum + Math.max(0, Number(end - BigInt(rows[partition]?.next ?? 0))),
      0,
    );
    if (missing === 0) return;
    if (performance.now() >= deadline) {
      throw new BackupError(
        `The read model is behind the log by ${missing} ${missing === 1 ? 'event' : 'events'}. It is being filled, a partition has halted, or no process projects: see \`tablog log status\`. ` +
          'To back it up anyway, add --behind.',
      );
    }
    await pause(200, signal);
    signal.throwIfAborted();
  }
}
