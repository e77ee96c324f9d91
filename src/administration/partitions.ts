/**
 * Reads the state of the partitions, and resumes the log after a part of it was lost or may have been lost
 * (docs/operate/operations.md).
 */
import { clearContradictions, readFailures, readProgress, type Progress } from '../log/progress/progress.store.ts';
import type { Database } from '../storage/database/database.ts';
import type { LogReader, PartitionBounds, RecordLog } from '../log/event-log.ts';
import { proveIdentity, WrongLog } from '../log/identity.ts';
import { allPartitions } from '../log/partition.ts';
import { resumeLog } from '../log/resume.ts';

/** How far a partition is projected, and how far its log goes. */
export interface PartitionState extends Progress {
  readonly partition: number;
  readonly bounds: PartitionBounds;
  /** How many events of the log are not projected. */
  readonly behind: bigint;
}

/** The log cannot be resumed yet. The message has a line for each partition that prevents it. */
export class CannotResume extends Error {
  override readonly name = 'CannotResume';
}

/** The states of all partitions, by number. Rejects when Postgres or Kafka is away. */
export async function readPartitionStates(
  log: Pick<LogReader, 'bounds'>,
  database: Pick<Database, 'pool'>,
): Promise<PartitionState[]> {
  const before = await readProgress(database.pool);
  const bounds = await Promise.all(before.map((_, partition) => log.bounds(partition)));
  // Read the progress again, so that events appended between the two reads do not count as behind.
  const after = await readProgress(database.pool);
  const failures = await readFailures(database.pool);
  return before.map((progress, partition) => {
    const behind = bounds[partition]!.end - after[partition]!.next;
    return {
      ...progress,
      halted: progress.halted ?? failures.get(partition) ?? null,
      partition,
      bounds: bounds[partition]!,
      behind: behind > 0n ? behind : 0n,
    };
  });
}

/**
 * A partition as the API and the command line show it. Offsets, versions and epochs are texts, because they may exceed
 * the integers of JSON.
 */
interface ShownPartition {
  readonly partition: number;
  /** The next offset of the log, and the next one to be projected. */
  readonly logEnd: string;
  readonly projected: string;
  /** How many events are not projected yet. */
  readonly behind: number;
  /** The version of the next event. */
  readonly version: string;
  /** The fencing token of the process that projects the partition. It rises whenever another process takes over. */
  readonly epoch: string;
  /** Why the partition has halted; null: it has not. */
  readonly halted: string | null;
  /** Whether the partition has halted because the log contradicts the read model. */
  readonly contradicted: boolean;
  /** The IDs of the teams in quarantine. */
  readonly quarantined: readonly string[];
}

export function partitionAsJson({
  partition,
  next,
  base,
  bounds,
  behind,
  epoch,
  halted,
  contradicted,
  held,
}: PartitionState): ShownPartition {
  return {
    partition,
    logEnd: String(bounds.end),
    projected: String(next),
    behind: Number(behind),
    version: String(base + next),
    epoch: String(epoch),
    halted,
    contradicted,
    quarantined: [...held.since.keys()],
  };
}

/**
 * Raises the versions of all partitions above every version given out so far, and ends the halt of partitions whose log
 * lacked records. Resolves to the new base of each partition. Rejects with CannotResume while a partition lacks records
 * that were projected, or is not projected to its end.
 */
export async function resumeAfterLoss(log: RecordLog, database: Pick<Database, 'pool'>): Promise<bigint[]> {
  const states = await readPartitionStates(log, database);
  const problems = (await Promise.all(states.map((state) => findProblem(log, state)))).filter(
    (problem) => problem !== null,
  );
  if (problems.length > 0) throw new CannotResume(problems.join('\n'));
  const known = states.map(({ base, next }) => base + next);
  // Append before ending the halts: the next projector of a partition must find this record first.
  const bases = await resumeLog(log, known);
  await clearContradictions(database.pool, allPartitions(log.partitions));
  return bases;
}

/** The reason why a partition cannot be resumed; null if it can. */
async function findProblem(log: RecordLog, { partition, behind, ...progress }: PartitionState): Promise<string | null> {
  try {
    await proveIdentity(log, partition, progress);
  } catch (error) {
    if (!(error instanceof WrongLog)) throw error;
    return error.message;
  }
  if (progress.halted !== null && !progress.contradicted) return progress.halted;
  // Events that are not projected yet may have raised the base already.
  if (behind > 0n && !progress.contradicted)
    return `partition ${partition} is ${behind} events behind its log: start a process that projects it, wait until it has caught up (if it does not, see /readyz), then try again`;
  return null;
}
