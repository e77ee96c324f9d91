import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { eachInParallel } from '../../../src/language/each-in-parallel.ts';

/** These items, and how many of them were asked for. */
function counted(count: number): { items: AsyncIterable<number>; asked: () => number } {
  let asked = 0;
  async function* items(): AsyncGenerator<number> {
    for (; asked < count; asked += 1) yield asked;
  }
  return { items: items(), asked: () => asked };
}

const never = (): void => {
  throw new Error('nothing has failed');
};

test.each([1, 3, 100])(
  '%i items are in work at a time, and no more are pulled than there is room for',
  async (parallel) => {
    const { items, asked } = counted(20);
    let underWay = 0;
    let most = 0;
    const done: number[] = [];
    await eachInParallel(
      items,
      parallel,
      async (item, place) => {
        expect(place).toBe(item);
        underWay += 1;
        most = Math.max(most, underWay);
        expect(asked()).toBeLessThanOrEqual(done.length + parallel);
        await setImmediate();
        underWay -= 1;
        done.push(item);
      },
      never,
    );
    expect(most).toBe(Math.min(parallel, 20));
    expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, item) => item));
  },
);

describe('failures', () => {
  test('the first failure in item order is thrown, once all work in flight is done', async () => {
    const { items, asked } = counted(20);
    const ended: number[] = [];
    let stops = 0;
    const work = eachInParallel(
      items,
      4,
      async (item) => {
        // The later ones fail first.
        for (let turn = item; turn < 5; turn += 1) await setImmediate();
        ended.push(item);
        if (item === 1 || item === 3) throw new Error(`item ${item}`);
      },
      () => {
        stops += 1;
      },
    );
    await expect(work).rejects.toThrow('item 1');
    expect(ended.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
    expect(asked()).toBeLessThan(6);
    expect(stops).toBe(2);
  });

  test('a failure of the items comes after the failure of an earlier item', async () => {
    async function* items(): AsyncGenerator<number> {
      yield 0;
      throw new Error('the items');
    }
    const failing = async (): Promise<void> => {
      await setImmediate();
      throw new Error('the work');
    };
    await expect(eachInParallel(items(), 4, failing, () => {})).rejects.toThrow('the work');
    await expect(
      eachInParallel(
        items(),
        4,
        async () => {},
        () => {},
      ),
    ).rejects.toThrow('the items');
  });
});
