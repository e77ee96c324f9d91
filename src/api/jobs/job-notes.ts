/**
 * Notes of the jobs that teams were told of, so that they can be listed: outside of the log and the read model, because
 * no decision reads them. They say what was asked for; what became of it is in its outcome. Noted in the background, so
 * that no answer waits for it: the notes of the last moment are lost with their process, and their jobs are known by
 * their IDs only.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { inTransaction } from '../../storage/database/transaction.ts';

const schema = 'tablog_jobs';
/** `team_id`, `not_after`, `command_id` and what was asked for. */
export const jobNotes = `${schema}.jobs`;

/** How long notes are gathered, in milliseconds. */
const gatherMs = 200;

/**
 * How many notes one statement writes, how many wait at most while Postgres is away, and how many are removed at once.
 */
const writtenAtOnce = 1000;
const waitingMax = 10_000;
const removedAtOnce = 2000;

/** What a client asked for. */
export interface JobNote {
  readonly teamId: string;
  /** The deadline of its event (src/storage/security/job-id.ts), in milliseconds of log time. */
  readonly notAfter: number;
  readonly commandId: string;
  readonly jobId: string;
  /** The ID of the operation in the OpenAPI document. */
  readonly operation: string;
  /** The app of the token it was asked with; null: the token is for the whole team. */
  readonly appId: string | null;
  readonly tableId: string | null;
  /** The stash whose rows are imported, or that is written to. */
  readonly stashId: string | null;
}

/** A place in a team's list: before this job. */
type JobPlace = Pick<JobNote, 'notAfter' | 'commandId'>;

interface JobsAsked {
  readonly teamId: string;
  /** Only what was asked for with tokens of this app; null: all. */
  readonly appId: string | null;
  /** The oldest that count, by `notAfter`. */
  readonly since: number;
  /** Null: from the newest on. */
  readonly before: JobPlace | null;
  readonly limit: number;
}

/** Creates the table unless it exists. Safe to call concurrently from many processes. */
export async function createJobNotes(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createNotes]);
    await client.query(`create schema if not exists ${schema}`);
    await client.query(
      `create table if not exists ${jobNotes} (team_id uuid not null, not_after int8 not null, command_id uuid not null,
      job_id text not null,
        operation text not null, app_id text, table_id uuid, stash_id text, primary key (team_id, not_after,
        command_id))`,
    );
    await client.query(
      `create index if not exists jobs_of_apps on ${jobNotes} (team_id, app_id, not_after, command_id) where app_id is not null`,
    );
    // Almost nothing to write, and enough to find what is old: notes come in order of time.
    await client.query(`create index if not exists jobs_by_time on ${jobNotes} using brin (not_after)`);
  });
}

/** Removes some of the notes from before this `notAfter`. Resolves to whether there may be more. */
export async function forgetJobs(pool: pg.Pool, before: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from ${jobNotes} where ctid = any (array(select ctid from ${jobNotes} where not_after < $1 limit ${removedAtOnce}))`,
    [before],
  );
  return rowCount === removedAtOnce;
}

const columns = ['team_id', 'not_after', 'command_id', 'job_id', 'operation', 'app_id', 'table_id', 'stash_id'].join(
  ', ',
);

const selected = `team_id as "teamId", not_after::float8 as "notAfter", command_id as "commandId", job_id as "jobId",
operation,
  app_id as "appId", table_id as "tableId", stash_id as "stashId"`;

interface JobNotesOptions {
  readonly pool: pg.Pool;
  readonly logger: Pick<Logger, 'warn'>;
}

export class JobNotes {
  readonly #options: JobNotesOptions;
  readonly #waiting: JobNote[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: JobNotesOptions) {
    this.#options = options;
  }

  /** Notes a job soon. While Postgres is away for long, some are lost. */
  add(note: JobNote): void {
    if (this.#waiting.length < waitingMax) this.#waiting.push(note);
    this.#writeLater();
  }

  /** A team's jobs, newest first, this process's latest among them. Rejects when Postgres is away. */
  async list({ teamId, appId, since, before, limit }: JobsAsked): Promise<JobNote[]> {
    await this.#write();
    const { rows } = await this.#options.pool.query<JobNote>(
      `select ${selected} from ${jobNotes} where team_id = $1 and not_after >= $2
          ${before === null ? '' : 'and (not_after, command_id) < ($4, $5)'} ${appId === null ? '' : `and app_id = $${before === null ? 4 : 6}`}
        order by not_after desc, command_id desc limit $3`,
      [
        teamId,
        since,
        limit,
        ...(before === null ? [] : [before.notAfter, before.commandId]),
        ...(appId === null ? [] : [appId]),
      ],
    );
    return rows;
  }

  /** Writes the remaining notes. */
  async close(): Promise<void> {
    await this.#write();
    clearTimeout(this.#timer);
  }

  #writeLater(): void {
    this.#timer ??= setTimeout(() => void this.#write(), gatherMs);
  }

  /** Never rejects: what could not be written is tried again later. */
  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#writeWaiting());
    return this.#writing;
  }

  async #writeWaiting(): Promise<void> {
    const { pool, logger } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, writtenAtOnce);
      try {
        await pool.query(
          `insert into ${jobNotes} (${columns})
            select * from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::uuid[],
            $8::text[]) on conflict do nothing`,
          (['teamId', 'notAfter', 'commandId', 'jobId', 'operation', 'appId', 'tableId', 'stashId'] as const).map(
            (name) => batch.map((note) => note[name]),
          ),
        );
      } catch (error) {
        logger.warn({ err: error }, 'jobs could not be noted, and are not listed yet; it is tried again');
        this.#writeLater();
        return;
      }
      this.#waiting.splice(0, batch.length);
    }
  }
}
