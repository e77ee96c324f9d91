/**
 * Notes about jobs, for the list of a team's jobs. They are outside of the log and the read model, because no decision
 * reads them. A note describes the request of a job; the outcome has its result. Notes are written in the background,
 * so that no answer waits for them. If a process is killed, its last notes are lost, and clients can find those jobs
 * only by their IDs.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { inTransaction } from '../../storage/database/transaction.ts';

const schema = 'tablog_jobs';
/** `team_id`, `not_after`, `command_id`, and a description of the request. */
export const jobNotes = `${schema}.jobs`;

/** How long notes are collected before they are written, in milliseconds. */
const gatherMs = 200;

/**
 * How many notes one statement writes, how many may wait while Postgres is away, and how many one statement removes.
 */
const writtenAtOnce = 1000;
const waitingMax = 10_000;
const removedAtOnce = 2000;

/** The request of a job. */
export interface JobNote {
  readonly teamId: string;
  /** The deadline of its event (src/storage/security/job-id.ts), in milliseconds of log time. */
  readonly notAfter: number;
  readonly commandId: string;
  readonly jobId: string;
  /** The ID of the operation in the OpenAPI document. */
  readonly operation: string;
  /** The app of the request's token; null: the token is for the whole team. */
  readonly appId: string | null;
  readonly tableId: string | null;
  /** The stash that is imported or written to. */
  readonly stashId: string | null;
}

/** A place in a team's list: before this job. */
type JobPlace = Pick<JobNote, 'notAfter' | 'commandId'>;

interface JobsAsked {
  readonly teamId: string;
  /** Only jobs of tokens of this app; null: all jobs. */
  readonly appId: string | null;
  /** The lowest `notAfter` to include. */
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
    // A BRIN index costs almost nothing to write, and is enough to find old notes, because notes arrive in the order of
    // time.
    await client.query(`create index if not exists jobs_by_time on ${jobNotes} using brin (not_after)`);
  });
}

/** Removes up to 2,000 notes with a lower `notAfter`. Resolves to whether there may be more. */
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

  /** Notes a job within 200 ms. If Postgres is away for long, further notes are dropped. */
  add(note: JobNote): void {
    if (this.#waiting.length < waitingMax) this.#waiting.push(note);
    this.#writeLater();
  }

  /** A team's jobs, newest first, including the latest ones of this process. Rejects when Postgres is away. */
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

  /** Writes the waiting notes. Never rejects: notes that could not be written are tried again later. */
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
        logger.warn(
          { err: error },
          'notes about jobs could not be written, so lists of jobs lack them; another attempt follows',
        );
        this.#writeLater();
        return;
      }
      this.#waiting.splice(0, batch.length);
    }
  }
}
