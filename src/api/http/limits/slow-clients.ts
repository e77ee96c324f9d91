/**
 * The minimum speed of a client that sends or reads while others wait. Slower clients are cut off
 * (docs/reference/limits.md). While nobody waits, the lower floors of bodies and of readers apply.
 */
export const whileOthersWait = {
  /** In bytes a second. */
  bytesPerSecond: 64 * 1024,
  /** Minimum time over which the speed is measured, in milliseconds. */
  ms: 2000,
} as const;
