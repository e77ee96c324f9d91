/**
 * How fast a client must send or read while others find no room: slower ones are cut off (docs/reference/limits.md). As
 * long as nobody waits, the lower floors of bodies and of readers hold.
 */
export const whileOthersWait = {
  /** In bytes a second. */
  bytesPerSecond: 64 * 1024,
  /** Over how long it is measured at least, in milliseconds. */
  ms: 2000,
} as const;
