/**
 * Copies tables out of snapshots of Postgres, over several connections. A snapshot is of one partition, and is closed
 * when that is copied.
 */
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { Snapshot } from '../../log/compare/snapshot.ts';
import { postgresTypes } from '../../storage/database/pipelined-client.ts';
import type { TableCopy, TableOfPartition } from './manifest.ts';
import type { PackWriter } from './packs.ts';
import { keysOfPartition, rowsOfPartition, type KeyRange } from './rows-of-partition.ts';
import { columnList, tableName, type CopiedTable } from './stored-tables.ts';

/**
 * A snapshot keeps Postgres from removing dead rows: more connections close it sooner, and leave less for the service.
 */
const connections = 3;

/** How many bytes of a table one stream is to have, about. */
const streamBytes = 4 * 2 ** 20;

/**
 * A table keeps the width of the last set, so that its packs stay the same, until it is wrong by more than this factor.
 */
const widthTolerance = 8;

/** So that no end of a range is too large for Postgres. */
const widthBitsMax = 52;

async function connect(url: string, more: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tablog backup',
    options: '-c jit=off',
    connectionTimeoutMillis: 5000,
    ...more,
  });
  // A broken connection fails the query that runs on it, or the next one.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** The rows of a partition are to be copied out of a snapshot. */
interface PartitionOptions {
  readonly partition: number;
  /** Which share of the bytes of the read model is of the partition, about. */
  readonly share: number;
  /** The same partition of the last set: what has not changed since is cut at the same places. */
  readonly before: readonly TableOfPartition[];
  readonly packs: PackWriter;
  readonly signal: AbortSignal;
  /** Called when a piece of a table is copied. */
  readonly onPiece: () => void;
}

export class CopyConnections {
  readonly #clients: readonly [pg.Client, ...pg.Client[]];
  readonly #reader: pg.Client;

  private constructor(clients: readonly [pg.Client, ...pg.Client[]], reader: pg.Client) {
    this.#clients = clients;
    this.#reader = reader;
  }

  /** Connects for `use`. `schema`: of the read model. */
  static async with<T>(url: string, schema: string, use: (connections: CopyConnections) => Promise<T>): Promise<T> {
    const clients: pg.Client[] = [];
    try {
      const options = `-c jit=off -c search_path=${schema}`;
      for (let n = 0; n < connections; n += 1) clients.push(await connect(url, { options }));
      const reader = await connect(url, { options, types: postgresTypes });
      clients.push(reader);
      return await use(new CopyConnections(clients.slice(0, -1) as [pg.Client, ...pg.Client[]], reader));
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  }

  /**
   * Runs `use` on a snapshot of what is committed now, and closes it. If that fails, the connections cannot be used any
   * more.
   */
  async withSnapshot<T>(use: (snapshot: CopySnapshot) => Promise<T>): Promise<T> {
    const [first, ...others] = [...this.#clients, this.#reader] as [pg.Client, ...pg.Client[]];
    for (const client of [first, ...others]) await client.query('begin isolation level repeatable read read only');
    const {
      rows: [exported],
    } = await first.query<{ id: string }>('select pg_export_snapshot() as id');
    for (const client of others) await client.query(`set transaction snapshot '${exported!.id}'`);
    const result = await use(new CopySnapshot(this.#clients, this.#reader));
    await Promise.all([first, ...others].map((client) => client.query('commit')));
    return result;
  }
}

export class CopySnapshot {
  readonly #clients: readonly [pg.Client, ...pg.Client[]];
  readonly #reader: pg.Client;

  constructor(clients: readonly [pg.Client, ...pg.Client[]], reader: pg.Client) {
    this.#clients = clients;
    this.#reader = reader;
  }

  /** For queries, while nothing is copied. */
  get client(): pg.Client {
    return this.#clients[0];
  }

  /** The read model as the snapshot shows it, on a connection of its own: it can be read while tables are copied. */
  get readModel(): Snapshot {
    return new Snapshot(this.#reader);
  }

  /** Copies whole tables, one after the other. */
  async copyWhole(
    tables: readonly CopiedTable[],
    packs: PackWriter,
  ): Promise<(TableCopy & Pick<CopiedTable, 'schema'>)[]> {
    const copies: (TableCopy & Pick<CopiedTable, 'schema'>)[] = [];
    for (const { schema, name, columns, key } of tables) {
      const stream = await copyRows(
        this.client,
        `select ${columnList(columns)} from ${tableName({ schema, name })} order by ${columnList(key)}`,
        packs,
      );
      copies.push({ schema, name, columns: [...columns], streams: [stream] });
    }
    return copies;
  }

  /**
   * Copies the rows of a partition. Tables without any are left out. Rejects with the first error, once nothing is
   * under way.
   */
  async copyPartition(
    tables: readonly CopiedTable[],
    { partition, share, before, packs, signal, onPiece }: PartitionOptions,
  ): Promise<TableOfPartition[]> {
    const copies: TableOfPartition[] = [];
    const waiting: ((client: pg.Client) => Promise<void>)[] = [];
    for (const table of tables) {
      const width = table.isCut
        ? await this.#widthOf(table, partition, share, before.find(({ name }) => name === table.name)?.width ?? null)
        : null;
      const ranges = width === null ? [null] : await this.#ranges(table, partition, width);
      const copied: TableOfPartition = { name: table.name, width, streams: [] };
      copies.push(copied);
      for (const [place, range] of ranges.entries()) {
        waiting.push(async (client) => {
          const rows = rowsOfPartition(table, partition, range);
          copied.streams[place] = await copyRows(
            client,
            `${rows} order by ${table.key.map((column) => `rows."${column}"`).join(', ')}`,
            packs,
          );
        });
      }
    }
    const failed = new AbortController();
    await Promise.all(
      this.#clients.map(async (client) => {
        try {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
            signal.throwIfAborted();
            if (failed.signal.aborted) return;
            await next(client);
            onPiece();
          }
        } catch (error) {
          failed.abort(error);
        }
      }),
    );
    failed.signal.throwIfAborted();
    return copies
      .map((copied) => ({ ...copied, streams: copied.streams.filter(({ rows }) => rows > 0) }))
      .filter(({ streams }) => streams.length > 0);
  }

  async #widthOf(table: CopiedTable, partition: number, share: number, former: number | null): Promise<number> {
    const {
      rows: [size],
    } = await this.client.query<{ keys: number | null; bytes: number }>(
      `select (max(key) - min(key) + 1)::float8 as keys, pg_table_size('${tableName(table)}'::regclass)::float8 as bytes from (${keysOfPartition(table, partition)}) keys`,
    );
    const { keys, bytes } = size!;
    const exact = (streamBytes * (keys ?? 1)) / Math.max(1, bytes * share);
    if (former !== null && exact <= former * widthTolerance && exact >= former / widthTolerance) return former;
    return 2 ** Math.min(widthBitsMax, Math.max(0, Math.round(Math.log2(exact))));
  }

  /** The ranges of the key's first column that may have rows of the partition. */
  async #ranges(table: CopiedTable, partition: number, width: number): Promise<KeyRange[]> {
    const { rows } = await this.client.query<{ n: string }>(
      `select distinct key / ${width}::int8 as n from (${keysOfPartition(table, partition)}) keys order by n`,
    );
    return rows.map(({ n }) => ({ from: BigInt(n) * BigInt(width), to: (BigInt(n) + 1n) * BigInt(width) }));
  }
}

/** Copies the rows of a query. */
async function copyRows(client: pg.Client, query: string, packs: PackWriter): Promise<TableCopy['streams'][number]> {
  const stream = client.query(copyTo(`copy (${query}) to stdout (format binary)`));
  const ids = await packs.writeStream(stream);
  return { rows: stream.rowCount, packs: ids };
}
