/** How many partitions a simulated log has: more than the connections with which a process writes (`writersMax`). */
export const partitions = 6;

/** How many connections a simulated process writes with. */
export const writersMax = 4;
