/**
 * Upper bounds in seconds, for operations that take less than a millisecond on an idle service, and seconds while a
 * dependency is away.
 */
export const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
