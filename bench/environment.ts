/**
 * The Postgres that both sides share, and what a reader has to know of the machine to judge the figures.
 */
import { readFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';

/** The URLs of the two databases. */
export interface Databases {
  yardstick: string;
  service: string;
}

export interface Fact {
  what: string;
  value: string;
}

/** The URL of the Postgres to measure on: BENCH_DATABASE_URL, or one that is started in `folder`. */
export async function startPostgres(folder: string, resources: AsyncDisposableStack): Promise<string> {
  const given = process.env['BENCH_DATABASE_URL'];
  if (given) return given;
  const postgres = await startEmbeddedPostgres({ folder, log: () => {} });
  resources.defer(async () => { await postgres.stop(); });
  return postgres.url;
}

/** Makes two empty databases, which `resources` drops. */
export async function createDatabases(url: string, resources: AsyncDisposableStack): Promise<Databases> {
  const create = async (side: keyof Databases): Promise<string> => {
    const name = `bench_${side}_${process.pid}`;
    await query(url, `create database ${name}`);
    resources.defer(async () => { await query(url, `drop database ${name} with (force)`); });
    const created = new URL(url);
    created.pathname = `/${name}`;
    return created.href;
  };
  return { yardstick: await create('yardstick'), service: await create('service') };
}

/** Leaves nothing of the load to be done while measuring. */
export async function settle({ yardstick, service }: Databases): Promise<void> {
  for (const url of [yardstick, service]) await query(url, 'vacuum analyze');
  await query(service, 'checkpoint');
}

/** Versions, machine, and the settings of Postgres that decide what a commit costs, as each database has them. */
export async function describeEnvironment(databases: Databases): Promise<Fact[]> {
  const processors = cpus();
  const facts: Fact[] = [
    { what: 'date', value: new Date().toISOString() },
    { what: 'processor', value: `${processors.length} x ${processors[0]?.model ?? 'unknown'}` },
    { what: 'memory', value: `${Math.round(totalmem() / 2 ** 30)} GiB` },
    { what: 'load average', value: loadavg().map((load) => load.toFixed(2)).join(' ') },
    { what: 'Node', value: process.version },
    { what: 'fastify', value: await versionOf('fastify') },
    { what: 'pg', value: await versionOf('pg') },
  ];
  for (const setting of ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers']) {
    const ofYardstick = await show(databases.yardstick, setting);
    const ofService = await show(databases.service, setting);
    const value = ofYardstick === ofService ? ofService : `${ofYardstick} (yardstick), ${ofService} (service)`;
    facts.push({ what: `Postgres ${setting}`, value });
  }
  return facts;
}

async function show(url: string, setting: string): Promise<string> {
  return (await query<Record<string, string>>(url, `show ${setting}`))[0]![setting]!;
}

async function versionOf(name: string): Promise<string> {
  const file = join(import.meta.dirname, '..', 'node_modules', name, 'package.json');
  return JSON.parse(await readFile(file, 'utf8')).version;
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
