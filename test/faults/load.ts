/** Clients that work on a recorded table as fast as they are answered. */
import type { RecordedTable } from './recorded-table.ts';

/** How often each step is taken, relative to the others. */
export type Mix = Readonly<Partial<Record<LoadStep, number>>>;

type LoadStep = keyof typeof steps;

/** Random numbers from 0 to 1 that are the same for the same seed (the generator mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Worker {
  readonly table: RecordedTable;
  readonly random: () => number;
  /** Rows that all clients change. */
  readonly contended: readonly string[];
  /** Rows that this client added and that only it deletes. */
  readonly own: string[];
}

const wide = 'x'.repeat(1000);

const steps = {
  /** Reads a row, then patches it with the version that was read. */
  patch: async ({ table, random, contended }: Worker) => {
    const row = contended[Math.floor(random() * contended.length)]!;
    const version = await table.read(row);
    if (version !== null) await table.patch(row, version);
  },
  add: async ({ table, random, own }: Worker) => {
    own.push(...(await table.add(1 + Math.floor(random() * 5))));
  },
  /** As many rows as need a block of their own. */
  addBlock: async ({ table, own }: Worker) => {
    own.push(...(await table.add(1000)).slice(0, 3));
  },
  /** More bytes than a block can hold. */
  addBody: async ({ table, own }: Worker) => {
    own.push(...(await table.add(700, { padding: wide })).slice(0, 3));
  },
  addRefused: async ({ table, random }: Worker) => {
    const large = random() < 0.5;
    await table.add(large ? 700 : 3, { ...(large ? { padding: wide } : {}), extra: { size: 'not a number' } });
  },
  /** Deletes a row: alone, with its version, or against a patch. */
  delete: async ({ table, random, own }: Worker) => {
    const row = own.splice(Math.floor(random() * own.length), 1)[0];
    if (row === undefined) return;
    if (random() < 0.3) await Promise.all([table.delete(row, null), table.patch(row, null)]);
    else await table.delete(row, random() < 0.5 ? null : await table.read(row));
  },
  /** Some of the rows that all fight for, in a random order, together with an addition. */
  batch: async ({ table, random, contended, own }: Worker) => {
    const rows = contended.filter(() => random() < 0.4).toSorted(() => random() - 0.5);
    if (rows.length === 0) return;
    const added = await table.batch(rows, random() < 0.1);
    if (added !== null) own.push(added);
  },
  /** All of these rows at one moment. */
  look: async ({ table, contended }: Worker) => {
    await table.look(contended);
  },
  head: async ({ table }: Worker) => {
    await table.head();
  },
  create: async ({ table, random }: Worker) => {
    const kind = random();
    await (kind < 0.6 ? table.create(3) : kind < 0.9 ? table.create(1000) : table.create(700, wide));
  },
};

/** Takes steps as long as `goesOn` resolves to true. */
export async function work(
  table: RecordedTable,
  contended: readonly string[],
  mix: Mix,
  random: () => number,
  goesOn: () => Promise<boolean> | boolean,
): Promise<void> {
  const worker: Worker = { table, random, contended, own: [] };
  const weights = Object.entries(mix) as [LoadStep, number][];
  const sum = weights.reduce((total, [, weight]) => total + weight, 0);
  while (await goesOn()) {
    let place = random() * sum;
    const [step] = weights.find(([, weight]) => (place -= weight) < 0) ?? weights[0]!;
    await steps[step](worker);
  }
}
