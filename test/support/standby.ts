/** A Postgres with a streaming standby, both embedded: https://www.postgresql.org/docs/current/warm-standby.html. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeFile } from 'node:fs/promises';
import pg from 'pg';
import { openCluster, SUPERUSER, type Cluster } from '../../src/storage/embedded/cluster.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/storage/embedded/embedded-postgres.ts';
import { endPostmaster, launchPostmaster } from '../../src/storage/embedded/postmaster.ts';
import { CutLine } from '../faults/cut-line.ts';
import { freePort, sleepUntil } from './server.ts';

export interface StandbyOptions {
  /** Whether each commit of the primary waits until the standby has written it to its disk. */
  readonly synchronous: boolean;
}

/**
 * Starts a Postgres in `folder/primary` and its standby in `folder/standby`. Resolves once replication works.
 */
export async function startWithStandby(
  folder: string,
  { synchronous }: StandbyOptions,
): Promise<{ readonly primary: EmbeddedPostgres; readonly standby: Standby }> {
  const [ofPrimary, ofStandby] = [join(folder, 'primary'), join(folder, 'standby')];
  const created = await start(ofPrimary);
  await created.stop();
  // Keeps the owner, which may be another user.
  await promisify(execFile)('cp', ['-a', ofPrimary, ofStandby]);
  const primary = await start(ofPrimary, {
    wal_keep_size: '1GB',
    ...(synchronous ? { synchronous_standby_names: '*' } : {}),
  });
  try {
    return { primary, standby: await Standby.start(ofStandby, primary, synchronous ? 'sync' : 'async') };
  } catch (error) {
    await primary.stop();
    throw error;
  }
}

export class Standby {
  readonly #folder: string;
  readonly #pid: number;
  /** The line through which the primary's writes come. */
  readonly #line: CutLine;
  /** Its URL. It accepts no writes until it is promoted. The URL does not change. */
  readonly url: string;
  #promoted: EmbeddedPostgres | null = null;

  private constructor(folder: string, pid: number, line: CutLine, url: string) {
    this.#folder = folder;
    this.#pid = pid;
    this.#line = line;
    this.url = url;
  }

  static async start(folder: string, primary: EmbeddedPostgres, state: 'sync' | 'async'): Promise<Standby> {
    const cluster = await openCluster(folder, () => undefined);
    const line = await CutLine.open(Number(new URL(primary.url).port));
    await writeFile(join(cluster.data, 'standby.signal'), '');
    const port = await freePort();
    const { pid } = await launchPostmaster(cluster, port, {
      primary_conninfo: conninfo(line.port, cluster),
      hot_standby: 'on',
    });
    const url = new URL(primary.url);
    url.port = String(port);
    const standby = new Standby(folder, pid!, line, url.href);
    try {
      await sleepUntil(async () => (await stateOfStandby(primary.url)) === state, `the standby follows (${state})`);
      return standby;
    } catch (error) {
      await standby.stop();
      throw error;
    }
  }

  /** Stops the arrival of the primary's writes. An asynchronous primary does not notice. */
  cutReplication(): void {
    this.#line.target = null;
    this.#line.cut(0);
  }

  /**
   * Promotes it to a primary, on a new timeline, with everything that it has received. Resolves when it accepts writes.
   */
  async promote(): Promise<EmbeddedPostgres> {
    const { promoted } = await ask<{ promoted: boolean }>(this.url, 'select pg_promote(true, 120) as promoted');
    if (!promoted) throw new Error('the standby was not promoted');
    this.#promoted = await start(this.#folder);
    return this.#promoted;
  }

  /** Stops it, even if it was promoted. */
  async stop(): Promise<void> {
    await (this.#promoted === null ? endPostmaster(this.#pid, 10_000) : this.#promoted.stop());
    await this.#line.close();
  }
}

function start(folder: string, settings: Readonly<Record<string, string>> = {}): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ folder, settings, log: () => undefined });
}

function conninfo(port: number, { password }: Cluster): string {
  return `host=127.0.0.1 port=${port} user=${SUPERUSER} password=${password} application_name=standby`;
}

/** How the primary replicates to its standby: `sync` or `async`; null: it does not yet. */
async function stateOfStandby(primaryUrl: string): Promise<string | null> {
  const { state } = await ask<{ state: string | null }>(
    primaryUrl,
    `select max(sync_state) as state from pg_stat_replication where state = 'streaming'`,
  );
  return state;
}

async function ask<Row extends object>(url: string, text: string): Promise<Row> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows[0]!;
  } finally {
    await client.end();
  }
}
