/** How many partitions a log has. It must never change while one is kept. */
export const partitionCount = 12;

/** The partitions of a log of so many. */
export function allPartitions(count: number): number[] {
  return Array.from({ length: count }, (_, partition) => partition);
}

/** The partition of a team: all that a team does has one order. The rule must never change while a log is kept. */
export function partitionOf(teamId: string, partitions: number): number {
  // The last digits of a UUID version 7 are random.
  return Number.parseInt(teamId.slice(-8), 16) % partitions;
}
