/** How many partitions a simulated log has: more than a process has connections to write with (`writersMax`). */
export const partitions = 6;

/** How many connections a simulated process writes with. */
export const writersMax = 4;
