import { defineEntity, p } from '@mikro-orm/core';

/** How far the log has been projected, one row per partition (ARCHITECTURE.md, "progress"). */
export const ProgressEntity = defineEntity({
  name: 'Progress',
  tableName: 'progress',
  properties: {
    partition: p.smallint().primary().autoincrement(false),
    /** The next offset to project. */
    next: p.bigint(),
    /** A fencing token: each takeover raises it. Then a projector that was paused can no longer store its batch. */
    epoch: p.bigint(),
    /** The log that this read model was built from. */
    logId: p.uuid().nullable(),
    /** The version of an event is this base plus its offset. */
    base: p.bigint(),
    /**
     * Ranges of lower versions that stand for nothing, because a part of the log was lost: a JSON array of [from, to],
     * `to` exclusive.
     */
    gaps: p.text().default('[]'),
    /**
     * Raised when compaction moves rows of the partition or garbage collection drops segments. Objects that were loaded
     * or remembered under another layout are invalid. Replay does not compare it.
     */
    layout: p.bigint().default('0'),
    /** SHA-256 of the record before `next`. At the start it proves that the log is still the same. */
    lastHash: p.blob().nullable(),
    /** The time of the record before `next`. */
    time: p.bigint('number'),
    /** Why the partition has halted; null while it is projected. */
    halted: p.text().nullable(),
    /**
     * Whether the partition halted because its log contradicts the read model. Then it stays halted until an operator
     * resumes the log or rebuilds the read model. Other halts are tried again whenever the partition is taken over.
     */
    contradicted: p.boolean().default(false),
    /**
     * Only if the log is in Postgres, where no process owns a partition: the offset of an event that a process could
     * not project, and the reason. It is valid while the offset equals `next`: another process may have projected the
     * event since.
     */
    failedAt: p.bigint().nullable(),
    failure: p.text().nullable(),
    /** The teams whose events are held, as JSON (../quarantine/held-teams.ts). `quarantines` has the details. */
    held: p.text().default('{}'),
    /**
     * Whether the partition was ever projected to the end of its log. Until then its state is partial and is not
     * served.
     */
    caughtUp: p.boolean().default(false),
  },
});
