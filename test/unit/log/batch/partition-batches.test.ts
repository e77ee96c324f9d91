import { expect, test } from '@jest/globals';
import { PartitionBatches } from '../../../../src/log/batch/partition-batches.ts';
import type { Projector } from '../../../../src/log/projector.ts';
import type { ProgressAhead, SpeculativeBatch } from '../../../../src/log/batch/speculative-batch.ts';
import type { LogRecord } from '../../../../src/log/event-log.ts';

const recordAt = (offset: bigint): LogRecord => ({ partition: 0, offset, time: 0, bytes: Buffer.from(String(offset)) });
const costMax = 10;

/**
 * Batches of numbers, each its own cost, of which `done` says what is decided and stored; a test lets each batch land.
 */
class Batches {
  readonly done: string[] = [];
  readonly stores: PromiseWithResolvers<boolean>[] = [];
  readonly batches: PartitionBatches<number>;
  /** How the next decision ahead ends. */
  fails = false;

  constructor() {
    this.batches = new PartitionBatches<number>({
      partition: 0,
      epoch: 1n,
      costOf: (item) => item,
      costMax,
      timeNow: () => 0,
      maySpeculate: () => true,
      place: (items, offset) => items.map((_, at) => recordAt(offset + BigInt(at))),
      database: { writers: { with: (work: (tx: never) => Promise<unknown>) => work(undefined as never) } } as never,
      projector: {
        speculate: (_partition: number, after: ProgressAhead | null) => after && this.#speculate(after),
      } as unknown as Projector,
      store: ({ items, speculative }) => {
        this.done.push(`store ${items.join()}${speculative === null ? '' : ' as decided'}`);
        const store = Promise.withResolvers<boolean>();
        this.stores.push(store);
        return store.promise;
      },
    });
  }

  #speculate(after: ProgressAhead): SpeculativeBatch {
    let end = after.next;
    return {
      get end() {
        return end;
      },
      add: async (_tx: unknown, records: readonly LogRecord[]) => {
        this.done.push(`decide ${records.map(({ offset }) => offset).join()}`);
        end += BigInt(records.length);
        if (this.fails) throw new Error('it cannot be decided ahead');
      },
      ahead: () => ({ next: end, lastHash: Buffer.of(), memory: null }),
    } as unknown as SpeculativeBatch;
  }

  /** What was done since the last look, once nothing more happens by itself. */
  async look(): Promise<string[]> {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return this.done.splice(0);
  }
}

/** The record before offset 5 has landed, and the first batch is in flight. */
async function withFlight(): Promise<Batches> {
  const tried = new Batches();
  tried.batches.landed(recordAt(4n));
  tried.batches.push([1, 1]);
  expect(await tried.look()).toEqual(['decide 5,6', 'store 1,1 as decided']);
  return tried;
}

test('events that arrive while a batch is in flight are decided as if it had landed, and only once if it has', async () => {
  const tried = await withFlight();
  tried.batches.push([2, 2]);
  expect(await tried.look()).toEqual(['decide 7,8']);
  tried.stores[0]!.resolve(true);
  expect(await tried.look()).toEqual(['store 2,2 as decided']);
});

test('if the batch landed elsewhere, they are decided again from there', async () => {
  const tried = await withFlight();
  tried.batches.push([2, 2]);
  await tried.look();
  tried.batches.landed(recordAt(20n));
  tried.stores[0]!.resolve(false);
  expect(await tried.look()).toEqual(['decide 21,22', 'store 2,2 as decided']);
});

test('if it is unknown where the batch landed, they are stored undecided', async () => {
  const tried = await withFlight();
  tried.batches.push([2, 2]);
  await tried.look();
  tried.batches.lost();
  tried.stores[0]!.resolve(false);
  expect(await tried.look()).toEqual(['store 2,2']);
});

test('events that could not be decided ahead of the batch are decided after it', async () => {
  const tried = await withFlight();
  tried.fails = true;
  tried.batches.push([2]);
  expect(await tried.look()).toEqual(['decide 7']);
  tried.fails = false;
  tried.stores[0]!.resolve(true);
  expect(await tried.look()).toEqual(['decide 7', 'store 2 as decided']);
});

test.each([
  [[4, 6, 1], '4,6'],
  [[4, 7, 1], '4'],
  [[11, 1], '11'],
])('a batch takes of %j the items %s, because its cost is at most 10 unless it has one item', async (items, taken) => {
  const tried = new Batches();
  tried.batches.push(items);
  expect(await tried.look()).toEqual([`store ${taken}`]);
});
