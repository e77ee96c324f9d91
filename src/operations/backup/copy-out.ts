/**
 * Copies tables from snapshots of Postgres, over several connections. Each snapshot serves one partition, and is closed
 * when that partition is copied.
 */
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { Snapshot } from '../../log/compare/snapshot.ts';
import { postgresTypes } from '../../storage/database/pipelined-client.ts';
import type { TableBackup, TableOfPartition } from './manifest.ts';
import type { PackWriter } from './packs.ts';
import { keysOfPartition, rowsOfPartition, type KeyRange } from './rows-of-partition.ts';
import { columnList, qualifiedName, type CopiedTable } from './stored-tables.ts';

/**
 * How many connections copy at once. A snapshot keeps Postgres from removing dead rows: more connections close it
 * sooner, but take more from the service.
 */
const connections = 3;

/** The size of a stream of rows that `widthOf` aims for, in bytes. */
const streamBytes = 4 * 2 ** 20;

/**
 * A table keeps the width of the last set, so that its packs stay the same, until that width is wrong by more than this
 * factor.
 */
const widthTolerance = 8;

/** Limit of a width, in bits, so that no end of a range exceeds int8. */
const widthBitsMax = 52;

async function connect(url: string, more: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tablog backup',
    options: '-c jit=off',
    connectionTimeoutMillis: 5000,
    ...more,
  });
  // If the connection breaks, the query that runs on it fails, or the next one does.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Options for copying the rows of a partition from a snapshot. */
interface PartitionOptions {
  readonly partition: number;
  /** The approximate share of the partition in the bytes of the read model, 0 to 1. */
  readonly share: number;
  /** The same partition in the last set, so that unchanged rows are cut at the same places. */
  readonly before: readonly TableOfPartition[];
  readonly packs: PackWriter;
  readonly signal: AbortSignal;
  /** Called after each copied piece of a table. */
  readonly onPiece: () => void;
}

export class CopyConnections {
  readonly #clients: readonly [pg.Client, ...pg.Client[]];
  readonly #reader: pg.Client;

  private constructor(clients: readonly [pg.Client, ...pg.Client[]], reader: pg.Client) {
    this.#clients = clients;
    this.#reader = reader;
  }

  /** Connects while `use` runs. `schema` is the one of the read model. */
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
   * Runs `use` on a snapshot of the committed state, and closes the snapshot. If it rejects, the connections are
   * unusable.
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

  /** A connection for queries while nothing is being copied. */
  get client(): pg.Client {
    return this.#clients[0];
  }

  /** The read model in this snapshot. It has its own connection, so it can be read while tables are copied. */
  get readModel(): Snapshot {
    return new Snapshot(this.#reader);
  }

  /** Copies whole tables, one after the other. */
  async copyWhole(
    tables: readonly CopiedTable[],
    packs: PackWriter,
  ): Promise<(TableBackup & Pick<CopiedTable, 'schema'>)[]> {
    const copies: (TableBackup & Pick<CopiedTable, 'schema'>)[] = [];
    for (const { schema, name, columns, key } of tables) {
      const stream = await copyRows(
        this.client,
        `select ${columnList(columns)} from ${qualifiedName({ schema, name })} order by ${columnList(key)}`,
        packs,
      );
      copies.push({ schema, name, columns: [...columns], streams: [stream] });
    }
    return copies;
  }

  /**
   * Copies the rows of a partition. Leaves out tables without any. After an error it waits for the work under way, then
   * rejects with that error.
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
      `select (max(key) - min(key) + 1)::float8 as keys, pg_table_size('${qualifiedName(table)}'::regclass)::float8 as bytes from (${keysOfPartition(table, partition)}) keys`,
    );
    const { keys, bytes } = size!;
    const exact = (streamBytes * (keys ?? 1)) / Math.max(1, bytes * share);
    if (former !== null && exact <= former * widthTolerance && exact >= former / widthTolerance) return former;
    return 2 ** Math.min(widthBitsMax, Math.max(0, Math.round(Math.log2(exact))));
  }

  /** Ranges of `width` values of the key's first column that may contain rows of the partition. */
  async #ranges(table: CopiedTable, partition: number, width: number): Promise<KeyRange[]> {
    const { rows } = await this.client.query<{ n: string }>(
      `select distinct key / ${width}::int8 as n from (${keysOfPartition(table, partition)}) keys order by n`,
    );
    return rows.map(({ n }) => ({ from: BigInt(n) * BigInt(width), to: (BigInt(n) + 1n) * BigInt(width) }));
  }
}

/** Copies the rows of a query into packs. */
async function copyRows(client: pg.Client, query: string, packs: PackWriter): Promise<TableBackup['streams'][number]> {
  const stream = client.query(copyTo(`copy (${query}) to stdout (format binary)`));
  const ids = await packs.writeStream(stream);
  return { rows: stream.rowCount, packs: ids };
}
