/**
 * The shared Postgres of all sides, a Kafka, and the facts about the machine that a reader needs to judge the figures.
 */
import { readFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/storage/embedded/embedded-postgres.ts';
import { startBroker } from '../test/support/kafka/shared-kafka.ts';
import type { LogKind } from './options.ts';
import type { Surroundings } from './run-to-end.ts';

interface Fact {
  what: string;
  value: string;
}

/** The servers of a benchmark. Its resources stop them. */
interface Servers<Name extends string> {
  readonly postgresUrl: string;
  /** The URLs of empty databases. */
  readonly databases: Readonly<Record<Name, string>>;
  /** Undefined if the log is in Postgres. */
  readonly brokers: string | undefined;
  readonly facts: readonly Fact[];
}

/** Starts Postgres with databases of these names, and Kafka if the log is in Kafka. Prints the facts, and `more`. */
export async function startServers<const Name extends string>(
  { folder, resources, signal }: Surroundings,
  names: readonly Name[],
  log: LogKind,
  more: readonly Fact[] = [],
): Promise<Servers<Name>> {
  const postgresUrl = await startPostgres(join(folder, 'postgres'), resources);
  signal.throwIfAborted();
  const databases = {} as Record<Name, string>;
  for (const name of names) databases[name] = await createDatabase(postgresUrl, name, resources);
  const facts = await describeEnvironment(databases);
  const broker = log === 'kafka' ? await startBroker() : undefined;
  if (broker !== undefined) resources.defer(() => broker.remove());
  facts.push(broker === undefined ? { what: 'log', value: 'in Postgres' } : { what: 'Kafka', value: broker.where });
  facts.push(...more);
  console.log(facts.map(({ what, value }) => `${what}: ${value}`).join('\n'));
  return { postgresUrl, databases, brokers: broker?.address, facts };
}

/** The URL of the Postgres to measure on: BENCH_DATABASE_URL, or that of one started in `folder`. */
export async function startPostgres(folder: string, resources: AsyncDisposableStack): Promise<string> {
  const given = process.env['BENCH_DATABASE_URL'];
  if (given) return given;
  const postgres = await startEmbeddedPostgres({ folder, log: () => {} });
  resources.defer(async () => {
    await postgres.stop();
  });
  return postgres.url;
}

/** Creates an empty database, which `resources` drops; resolves to its URL. */
export async function createDatabase(url: string, purpose: string, resources: AsyncDisposableStack): Promise<string> {
  const name = `bench_${purpose}_${process.pid}`;
  await query(url, `create database ${name}`);
  resources.defer(async () => {
    await query(url, `drop database ${name} with (force)`);
  });
  const created = new URL(url);
  created.pathname = `/${name}`;
  return created.href;
}

/** Vacuums and checkpoints, so that no deferred work falls into a measurement. */
export async function settle(databases: readonly string[]): Promise<void> {
  for (const url of databases) await query(url, 'vacuum analyze');
  await query(databases[0]!, 'checkpoint');
}

/** Versions, machine, and the Postgres settings that determine the cost of a commit, for each database. */
async function describeEnvironment(databases: Readonly<Record<string, string>>): Promise<Fact[]> {
  const processors = cpus();
  const facts: Fact[] = [
    { what: 'date', value: new Date().toISOString() },
    { what: 'processor', value: `${processors.length} x ${processors[0]?.model ?? 'unknown'}` },
    { what: 'memory', value: `${Math.round(totalmem() / 2 ** 30)} GiB` },
    {
      what: 'load average',
      value: loadavg()
        .map((load) => load.toFixed(2))
        .join(' '),
    },
    { what: 'Node', value: process.version },
    { what: 'fastify', value: await versionOf('fastify') },
    { what: 'pg', value: await versionOf('pg') },
  ];
  for (const setting of [
    'server_version',
    'fsync',
    'synchronous_commit',
    'full_page_writes',
    'shared_buffers',
    'wal_buffers',
  ]) {
    const values = await Promise.all(Object.values(databases).map((url) => show(url, setting)));
    const named = Object.keys(databases).map((name, index) => `${values[index]} (${name})`);
    const value = new Set(values).size === 1 ? values[0]! : named.join(', ');
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

/** Runs one statement on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
