/**
 * The state of the partitions, and how to go on after a part of the log was lost, or may have been
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

/** The log cannot be resumed as it is. The message has a line for each partition that stands in the way. */
export class CannotResume extends Error {
  override readonly name = 'CannotResume';
}

/** Of all partitions, whichever process projects them. Rejects when Postgres, or Kafka, is away. */
export async function readPartitionStates(
  log: Pick<LogReader, 'bounds'>,
  database: Pick<Database, 'pool'>,
): Promise<PartitionState[]> {
  const before = await readProgress(database.pool);
  const bounds = await Promise.all(before.map((_, partition) => log.bounds(partition)));
  // What was appended between these reads is not behind.
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
 * What is shown of a partition. Offsets, versions and epochs are texts, because they may exceed the integers of JSON.
 */
interface ShownPartition {
  readonly partition: number;
  /** The next offset of the log, and the next one to be projected. */
  readonly logEnd: string;
  readonly projected: string;
  /** How many events are not projected yet. */
  readonly behind: number;
  /** The version that the next event is given. */
  readonly version: string;
  /** The fencing token of the process that projects it: it is raised whenever another process takes over. */
  readonly epoch: string;
  /** Why it has halted; null: it has not. */
  readonly halted: string | null;
  /** Whether it has halted because the log contradicts the read model. */
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
 * Raises the versions of all partitions above all that were given out, and lets partitions be projected again that have
 * halted because their log lacked records. Resolves to the new base of each partition. Rejects with CannotResume while
 * one still lacks what was projected, or is not projected to its end.
 */
export async function resumeAfterLoss(log: RecordLog, database: Pick<Database, 'pool'>): Promise<bigint[]> {
  const states = await readPartitionStates(log, database);
  const problems = (await Promise.all(states.map((state) => findProblem(log, state)))).filter(
    (problem) => problem !== null,
  );
  if (problems.length > 0) throw new CannotResume(problems.join('\n'));
  const known = states.map(({ base, next }) => base + next);
  // Whoever projects a partition again finds this record first.
  const bases = await resumeLog(log, known);
  await clearContradictions(database.pool, allPartitions(log.partitions));
  return bases;
}

/** Why a partition cannot be resumed; null if it can. */
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
    return `partition ${partition} is ${behind} events behind its log; start a process that projects it, wait for it, or see what /readyz says if it does not, and try again`;
  return null;
}
