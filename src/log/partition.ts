/** How many partitions a log has. It must never change during the life of a log. */
export const partitionCount = 12;

/** The numbers of all partitions of a log with `count` partitions. */
export function allPartitions(count: number): number[] {
  return Array.from({ length: count }, (_, partition) => partition);
}

/**
 * The partition of a team, which gives all its events one order. The rule must never change during the life of a log.
 */
export function partitionOf(teamId: string, partitions: number): number {
  // The last digits of a UUID version 7 are random.
  return Number.parseInt(teamId.slice(-8), 16) % partitions;
}
