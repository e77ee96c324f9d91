import { defineEntity, p } from '@mikro-orm/core';

/** A team whose events are held, from an event on that could not be projected (ARCHITECTURE.md, "quarantine"). */
export const QuarantineEntity = defineEntity({
  name: 'Quarantine',
  tableName: 'quarantines',
  properties: {
    partition: p.smallint().primary(),
    teamId: p.uuid().primary(),
    /** The event that failed last, and the reason. */
    failedOffset: p.bigint(),
    reason: p.text(),
    /** The time of the first event that failed, in milliseconds. */
    since: p.bigint('number'),
    /** The offset of the first event that may be held. A release continues there. */
    next: p.bigint(),
    /**
     * The lowest time of the records from `next` on, in milliseconds. The time that the log gave to a record may be
     * earlier.
     */
    time: p.bigint('number'),
    /** The versions of the partition at `next`, as in its progress. */
    base: p.bigint(),
    gaps: p.text(),
  },
});
