import { defineEntity, p } from '@mikro-orm/core';

/** A team whose events are held, from one on that could not be projected (ARCHITECTURE.md, "quarantine"). */
export const QuarantineEntity = defineEntity({
  name: 'Quarantine',
  tableName: 'quarantines',
  properties: {
    partition: p.smallint().primary(),
    teamId: p.uuid().primary(),
    /** The event that failed last, and why. */
    failedOffset: p.bigint(),
    reason: p.text(),
    /** The time of the first event that failed, in milliseconds. */
    since: p.bigint('number'),
    /** The first offset whose event may be held: a release goes on there. */
    next: p.bigint(),
    /** No record from `next` on is earlier: its own time, as the log gave it, can be. In milliseconds. */
    time: p.bigint('number'),
    /** The versions of the partition at `next`, as in its progress. */
    base: p.bigint(),
    gaps: p.text(),
  },
});
