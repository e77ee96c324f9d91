/** Puts teams into quarantine, and reads and releases them. */
import type pg from 'pg';
import { bind, type BoundStatement } from '../../storage/database/combine.ts';
import type { Statement } from '../../storage/database/pipelined-client.ts';
import type { LogRecord } from '../event-log.ts';
import { hashOf } from '../identity.ts';
import { encodeGaps, readVersions } from '../progress/advance.ts';
import type { Versions } from '../progress/versions.ts';

/** A team in quarantine. */
export interface Quarantine {
  readonly partition: number;
  readonly teamId: string;
  /** The event that failed last, and the reason. */
  readonly failedOffset: bigint;
  readonly reason: string;
  /** The time of the first event that failed, in milliseconds. */
  readonly since: number;
  /** The offset of the first event that may be held. No record from there on has a time below `time`. */
  readonly next: bigint;
  readonly time: number;
  /** The versions of the partition at `next`. */
  readonly versions: Versions;
}

/** The maximum length of a stored reason, in characters: an error may quote a whole row. */
const reasonLengthMax = 500;

/** One statement, so that the quarantine and the progress past the event are stored together, or neither is. */
const begin: Statement<{ next: bigint }> = {
  name: 'begin_quarantine',
  text: `with moved as (
      update progress set next = $2::int8 + 1, time = $3, last_hash = $4, layout = layout + 1,
        held = (held::jsonb || jsonb_build_object($6::text, $3::int8))::text
      where partition = $1 and next = $2 and epoch = $5 and halted is null returning base, gaps
    )
    insert into quarantines (partition, team_id, failed_offset, reason, since, next, time, base, gaps)
    select $1, $6::uuid, $2, $7, $3, $2, $3, base, gaps from moved returning next`,
};

/**
 * Holds the events of a team from this record on, if the progress of its partition is at the record. Returns a row if
 * it was.
 */
export function beginQuarantine(record: LogRecord, teamId: string, reason: string, epoch: bigint): BoundStatement {
  const { partition, offset, time } = record;
  return bind(begin, [partition, offset, time, hashOf(record), epoch, teamId, shortened(reason)]);
}

const fail: Statement = {
  name: 'fail_quarantine',
  text: 'update quarantines set failed_offset = $3, reason = $4 where partition = $1 and team_id = $2 and next = $3',
};

/** Records that the event failed that the release of the team has reached. */
export function failQuarantine({ partition, teamId }: Quarantine, offset: bigint, reason: string): BoundStatement {
  return bind(fail, [partition, teamId, offset, shortened(reason)]);
}

/**
 * Locks the progress of a partition, as storing a batch does. `table`: the OID of the locked table, which differs
 * between read models. Until the transaction ends, no read model can replace this one.
 */
export const lockProgress: Statement<{ next: bigint; table: bigint }> = {
  name: 'lock_progress',
  text: 'select next, tableoid::int8 as table from progress where partition = $1 for update',
};

/**
 * The place of a quarantine. No row: the team is not in quarantine. Only a statement that begins under the lock sees
 * earlier changes of others.
 */
export const selectQuarantine: Statement<{ next: bigint; time: bigint; base: bigint; gaps: string }> = {
  name: 'select_quarantine',
  text: 'select next, time, base, gaps from quarantines where partition = $1 and team_id = $2',
};

const move: Statement = {
  name: 'move_quarantine',
  text: 'update quarantines set next = $3, time = $4, base = $5, gaps = $6 where partition = $1 and team_id = $2',
};

/** The events of the team up to this record have been released. `versions`: those after it. */
export function moveQuarantine(
  { partition, teamId }: Quarantine,
  { offset, time }: LogRecord,
  { base, gaps }: Versions,
): BoundStatement {
  return bind(move, [partition, teamId, offset + 1n, time, base, encodeGaps(gaps)]);
}

const end: Statement = {
  name: 'end_quarantine',
  text: `with ended as (delete from quarantines where partition = $1 and team_id = $2::uuid)
    update progress set layout = layout + 1, held = (held::jsonb - $2::text)::text where partition = $1`,
};

/**
 * Lets the events of the team be projected again. The quarantine must be locked, and must have reached the progress.
 */
export function endQuarantine({ partition, teamId }: Quarantine): BoundStatement {
  return bind(end, [partition, teamId]);
}

/** All quarantines, the oldest first. Rejects if Postgres is away. */
export async function readQuarantines(pool: pg.Pool): Promise<Quarantine[]> {
  const { rows } = await pool.query<QuarantineRow>(`${selectQuarantines} order by since, team_id`);
  return rows.map(toQuarantine);
}

/** The quarantine of a team; null if it is not in quarantine. Rejects if Postgres is away. */
export async function findQuarantine(pool: pg.Pool, teamId: string): Promise<Quarantine | null> {
  const {
    rows: [found],
  } = await pool.query<QuarantineRow>(`${selectQuarantines} where team_id = $1`, [teamId]);
  return found === undefined ? null : toQuarantine(found);
}

const selectQuarantines = `
  select partition, team_id as "teamId", failed_offset as "failedOffset", reason, since, next, time, base, gaps
  from quarantines`;

function toQuarantine({
  partition,
  teamId,
  failedOffset,
  reason,
  since,
  next,
  time,
  base,
  gaps,
}: QuarantineRow): Quarantine {
  return {
    partition,
    teamId,
    failedOffset: BigInt(failedOffset),
    reason,
    since: Number(since),
    next: BigInt(next),
    time: Number(time),
    versions: readVersions({ base: BigInt(base), gaps }),
  };
}

/** The driver returns 64-bit integers as strings. */
type QuarantineRow = Pick<Quarantine, 'partition' | 'teamId' | 'reason'> &
  Readonly<Record<'failedOffset' | 'since' | 'next' | 'time' | 'base' | 'gaps', string>>;

function shortened(reason: string): string {
  return reason.length <= reasonLengthMax ? reason : `${reason.slice(0, reasonLengthMax)}...`;
}
