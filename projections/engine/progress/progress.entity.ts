import { defineEntity, p } from '@mikro-orm/core';

/** How far the log has been projected, a row a partition (ARCHITECTURE.md, "progress"). */
export const ProgressEntity = defineEntity({
  name: 'Progress',
  tableName: 'progress',
  properties: {
    partition: p.smallint().primary().autoincrement(false),
    /** The next offset to be read. */
    next: p.bigint(),
    /** Whoever takes a partition over raises it: a projector that was paused past its time loses its whole batch. */
    epoch: p.bigint(),
    /** The log this read model was built from, and what is added to an offset to make a version. */
    logId: p.uuid().nullable(),
    base: p.bigint(),
    /**
     * Raised whenever compaction has moved rows of the partition: what was remembered of where they lie does not hold then.
     * It is no part of the state that replay compares.
     */
    layout: p.bigint().default('0'),
    /** SHA-256 of the record before `next`, to prove at start that the log is still the same one. */
    lastHash: p.blob().nullable(),
    /** The time of that record. */
    time: p.bigint('number'),
    /** Why the partition is not projected any further; null while it is. */
    halted: p.text().nullable(),
    /** Whether it was ever projected to the end of its log: before that it is half a state, and answers nothing. */
    caughtUp: p.boolean().default(false),
  },
});
