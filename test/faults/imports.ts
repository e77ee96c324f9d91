/**
 * Clients that load stashes in chunks, several at once, and import them, while the service is killed; and readers that
 * look for parts of an import. A chunk is sent again until it is acknowledged, and an import, under its
 * Idempotency-Key, until its outcome is known. So it is certain what each table holds in the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { PersistentClient } from './persistent-client.ts';

const columns = [
  { id: 'load', type: 'number' },
  { id: 'row', type: 'number' },
  { id: 'text', type: 'string' },
];
const chunksAtOnce = 4;
const rowsOfChunk = 120;

/** The loads that a table may show: those from `first` to `last`, each whole. */
interface Span {
  readonly first: number;
  readonly last: number;
}

/** One client, its table, and all answers that it got. */
class Importer {
  readonly problems: string[] = [];
  /** How many imports were acknowledged. */
  imports = 0;
  reads = 0;
  readonly #client: PersistentClient;
  readonly #name: string;
  readonly #random: () => number;
  readonly #counts: number[] = [];
  #tableId = '';
  /** The loads that are certainly there, and those that may be. They differ while an import is in flight. */
  #certain: Span = { first: 1, last: 0 };
  #possible: Span = { first: 1, last: 0 };

  constructor(clients: readonly Client[], name: string, random: () => number) {
    this.#client = new PersistentClient(clients, random);
    this.#name = name;
    this.#random = random;
  }

  async createTable(): Promise<void> {
    const body = { name: this.#name, schema: { columns }, rows: [] };
    const answer = await this.#client.untilDone('/tables', {
      method: 'POST',
      body,
      headers: { 'idempotency-key': `create ${this.#name}` },
    });
    this.#tableId = answer.json.data.tableID;
  }

  /** Loads one stash after the other. */
  async run(goesOn: () => boolean): Promise<void> {
    for (let load = 1; goesOn(); load += 1) {
      const chunks = 1 + Math.floor(this.#random() * 12);
      const count = chunks * rowsOfChunk;
      this.#counts[load] = count;
      await this.#upload(load, chunks);
      // From time to time all rows are replaced, so that one page has them all.
      const overwrites = this.#certain.last - this.#certain.first >= 4;
      this.#possible = overwrites ? { first: load, last: load } : { ...this.#certain, last: load };
      const path = overwrites ? `/tables/${this.#tableId}` : `/tables/${this.#tableId}/rows`;
      const answer = await this.#client.untilDone(path, {
        method: overwrites ? 'PUT' : 'POST',
        body: { $stashID: this.#stash(load) },
        headers: { 'idempotency-key': `import ${load}` },
      });
      const { rowIDs } = answer.json.data as { rowIDs: string[] };
      if (rowIDs.length !== count)
        this.problems.push(`load ${load}: ${rowIDs.length} rows were imported, not ${count}`);
      this.#certain = this.#possible;
      this.imports += 1;
      if (this.#random() < 0.5) await this.#client.untilDone(`/stashes/${this.#stash(load)}`, { method: 'DELETE' });
    }
  }

  /** Reads the table again and again. */
  async watch(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      await this.read();
      await sleep(20);
    }
  }

  /** Reads the table. It must show whole loads, which were or may have been there during the read. */
  async read(): Promise<void> {
    const before = this.#certain;
    const answer = await this.#client.ask(`/tables/${this.#tableId}/rows`, {});
    if (answer?.status !== 200) return;
    this.reads += 1;
    const after = this.#possible;
    const rows = answer.json.data as { load: number; row: number }[];
    const first = rows[0]?.load ?? 1;
    let at = 0;
    let load = first;
    for (; at < rows.length; load += 1) {
      const count = this.#counts[load] ?? 0;
      const found = rows.slice(at, at + count);
      if (count === 0 || found.length < count || found.some((row, index) => row.load !== load || row.row !== index)) {
        this.problems.push(`${this.#name}: load ${load} was read in part`);
        return;
      }
      at += count;
    }
    const last = load - 1;
    if (last < before.last || last > after.last)
      this.problems.push(`${this.#name}: loads up to ${last} were read; ${before.last} to ${after.last} were there`);
    if (last >= first && ![before.first, after.first].includes(first))
      this.problems.push(`${this.#name}: loads from ${first} on were read`);
  }

  /** Sends the chunks in any order, some at once. From time to time another chunk comes first under a serial. */
  async #upload(load: number, chunks: number): Promise<void> {
    const serials = Array.from({ length: chunks }, (_, serial) => serial).sort(() => this.#random() - 0.5);
    const send = async (serial: number, rows: readonly object[]): Promise<void> => {
      await this.#client.untilDone(`/stashes/${this.#stash(load)}/${serial}`, { method: 'PUT', body: rows });
    };
    await Promise.all(
      Array.from({ length: chunksAtOnce }, async () => {
        for (let serial = serials.pop(); serial !== undefined; serial = serials.pop()) {
          if (this.#random() < 0.1) await send(serial, [{ load, row: -1, text: 'to be replaced' }]);
          const first = serial * rowsOfChunk;
          await send(
            serial,
            Array.from({ length: rowsOfChunk }, (_, row) => ({
              load,
              row: first + row,
              text: `${this.#name} ${load}`,
            })),
          );
        }
      }),
    );
  }

  #stash(load: number): string {
    return `${this.#name}-${load}`;
  }
}

/**
 * Lets clients load and import, and others read, while `disturb` runs. Resolves to the problems in their answers; empty
 * if all answers were true.
 */
export async function findImportProblems(
  clients: readonly Client[],
  randomFor: (client: number) => () => number,
  disturb: () => Promise<void>,
): Promise<string[]> {
  const importers = [0, 1].map((n) => new Importer(clients, `loads-${n}`, randomFor(n)));
  let goesOn = true;
  await Promise.all(importers.map((importer) => importer.createTable()));
  const working = Promise.all(
    importers.flatMap((importer) => [importer.run(() => goesOn), importer.watch(() => goesOn)]),
  );
  try {
    const isBusy = (): boolean => importers.every(({ imports, reads }) => imports >= 2 && reads >= 2);
    await Promise.race([disturb().then(() => sleepUntil(isBusy, 'each has imported and read', 60_000)), working]);
  } finally {
    goesOn = false;
    await working;
  }
  for (const importer of importers) await importer.read();
  return importers.flatMap(({ problems }) => problems);
}
