/** Copies tables out of one snapshot of Postgres, over several connections. */
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { Snapshot } from '../../projections/engine/compare/snapshot.ts';
import { postgresTypes } from '../database/pipelined-client.ts';
import type { OnProgress } from './backup-store.ts';
import type { Manifest, TableCopy } from './manifest.ts';
import type { PackWriter } from './packs.ts';
import { columnList, tableName, type CopiedTable } from './stored-tables.ts';

/** A snapshot keeps Postgres from removing dead rows: more connections close it sooner, and leave less for the service. */
const connections = 3;

/** How many bytes of a table one stream is to have, about. */
const streamBytes = 4 * 2 ** 20;

/** A table keeps the width of the last set, so that its packs stay the same, until it is wrong by more than this factor. */
const widthTolerance = 8;

async function connect(url: string, more: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'tablog backup', options: '-c jit=off', connectionTimeoutMillis: 5000, ...more });
  // A broken connection fails the query that runs on it, or the next one.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export class CopySnapshot {
  readonly #clients: readonly [pg.Client, ...pg.Client[]];
  readonly #reader: pg.Client;

  private constructor(clients: readonly [pg.Client, ...pg.Client[]], reader: pg.Client) {
    this.#clients = clients;
    this.#reader = reader;
  }

  /** Runs `use` on a snapshot of what is committed now, and closes it. `schema`: of the read model. */
  static async with<T>(url: string, schema: string, use: (snapshot: CopySnapshot) => Promise<T>): Promise<T> {
    const clients: pg.Client[] = [];
    try {
      for (let n = 0; n < connections; n += 1) clients.push(await connect(url));
      const reader = await connect(url, { options: `-c jit=off -c search_path=${schema}`, types: postgresTypes });
      clients.push(reader);
      for (const client of clients) await client.query('begin isolation level repeatable read read only');
      const [first, ...others] = clients as [pg.Client, ...pg.Client[]];
      const { rows: [exported] } = await first.query<{ id: string }>('select pg_export_snapshot() as id');
      for (const client of others) await client.query(`set transaction snapshot '${exported!.id}'`);
      return await use(new CopySnapshot([first, ...others.slice(0, -1)], reader));
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  }

  /** For queries, while nothing is copied. */
  get client(): pg.Client {
    return this.#clients[0];
  }

  /** The read model as the snapshot shows it, on a connection of its own: it can be read while tables are copied. */
  get readModel(): Snapshot {
    return new Snapshot(this.#reader);
  }

  /** Copies tables. `before`: the same of the last set. Rejects with the first error, once nothing is under way. */
  async copy(tables: readonly CopiedTable[], packs: PackWriter, before: Manifest['tables'], signal: AbortSignal, onProgress: OnProgress): Promise<TableCopy[]> {
    const copies: TableCopy[] = [];
    const waiting: ((client: pg.Client) => Promise<void>)[] = [];
    for (const table of tables) {
      const former = before.find(({ name }) => name === table.name);
      const width = table.isCut ? await this.#widthOf(table, former?.width ?? null) : null;
      const conditions = width === null ? ['true'] : await this.#ranges(table, width);
      const copied: TableCopy = { name: table.name, columns: [...table.columns], width, streams: [] };
      copies.push(copied);
      for (const [place, condition] of conditions.entries()) {
        waiting.push(async (client) => {
          copied.streams[place] = await copyRows(client, table, condition, packs);
        });
      }
    }
    const of = waiting.length;
    let done = 0;
    const failed = new AbortController();
    await Promise.all(this.#clients.map(async (client) => {
      try {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          signal.throwIfAborted();
          if (failed.signal.aborted) return;
          await next(client);
          done += 1;
          onProgress('pieces of tables', done, of);
        }
      } catch (error) {
        failed.abort(error);
      }
    }));
    failed.signal.throwIfAborted();
    return copies;
  }

  async #widthOf(table: CopiedTable, former: number | null): Promise<number> {
    const name = tableName(table);
    const { rows: [size] } = await this.client.query<{ keys: number | null; bytes: number }>(
      `select (max("${table.key[0]}") - min("${table.key[0]}") + 1)::float8 as keys, pg_table_size('${name}'::regclass)::float8 as bytes from ${name}`,
    );
    const { keys, bytes } = size!;
    const exact = (streamBytes * (keys ?? 1)) / Math.max(1, bytes);
    if (former !== null && exact <= former * widthTolerance && exact >= former / widthTolerance) return former;
    return 2 ** Math.max(0, Math.round(Math.log2(exact)));
  }

  /** The ranges of the key's first column that have rows, by probes of its index. */
  async #ranges(table: CopiedTable, width: number): Promise<string[]> {
    const [name, key] = [tableName(table), `"${table.key[0]}"`];
    const { rows } = await this.client.query<{ n: string }>(
      `with recursive ranges(n) as (
        (select ${key} / ${width}::int8 from ${name} order by ${key} limit 1)
        union all
        select (select ${key} / ${width}::int8 from ${name} where ${key} >= (n + 1) * ${width}::int8 order by ${key} limit 1) from ranges where n is not null
      ) select n from ranges where n is not null order by n`,
    );
    return rows.map(({ n }) => `${key} >= ${n}::int8 * ${width}::int8 and ${key} < (${n}::int8 + 1) * ${width}::int8`);
  }
}

async function copyRows(client: pg.Client, { columns, key, ...table }: CopiedTable, condition: string, packs: PackWriter): Promise<TableCopy['streams'][number]> {
  const query = `select ${columnList(columns)} from ${tableName(table)} where ${condition} order by ${columnList(key)}`;
  const stream = client.query(copyTo(`copy (${query}) to stdout (format binary)`));
  const ids = await packs.writeStream(stream);
  return { rows: stream.rowCount, packs: ids };
}
