/** How many partitions a simulated log has: one for the team that clients write to, and another. */
export const partitions = 2;
