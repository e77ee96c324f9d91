import { defineEntity, p } from '@mikro-orm/core';

/** How far the log has been projected, one row per partition (ARCHITECTURE.md, "progress"). */
export const ProgressEntity = defineEntity({
  name: 'Progress',
  tableName: 'progress',
  properties: {
    partition: p.smallint().primary().autoincrement(false),
    /** The next offset to project. */
    next: p.bigint(),
    /** A fencing token: each takeover raises it, and then a projector that was paused can no longer store its batch. */
    epoch: p.bigint(),
    /** The log that this read model was built from. */
    logId: p.uuid().nullable(),
    /** The version of an event is this base plus its offset. */
    base: p.bigint(),
    /**
     * Lower versions that stand for nothing, because a part of the log was lost: a JSON array of [from, to], `to`
     * exclusive.
     */
    gaps: p.text().default('[]'),
    /**
     * Raised when compaction moves rows of the partition or garbage collection drops segments: what was loaded or
     * remembered under another layout is invalid. Replay does not compare it.
     */
    layout: p.bigint().default('0'),
    /** SHA-256 of the record before `next`; proves at the start that the log is still the same. */
    lastHash: p.blob().nullable(),
    /** The time of the record before `next`. */
    time: p.bigint('number'),
    /** Why the partition has halted; null while it is projected. */
    halted: p.text().nullable(),
    /**
     * Whether it has halted because its log contradicts the read model. Then it stays halted until an operator resumes
     * the log or rebuilds the read model. Other halts are tried again whenever the partition is taken over.
     */
    contradicted: p.boolean().default(false),
    /**
     * With the log in Postgres, where no process owns a partition: the offset of an event that a process could not
     * project, and why. It holds while that is `next`: another process may have projected the event since.
     */
    failedAt: p.bigint().nullable(),
    failure: p.text().nullable(),
    /** The teams whose events are held, as JSON (../quarantine/held-teams.ts). Their `quarantines` say more. */
    held: p.text().default('{}'),
    /** Whether it was ever projected to the end of its log; until then its state is partial, and is not served. */
    caughtUp: p.boolean().default(false),
  },
});
