import { expect, test } from '@jest/globals';
import { FairQueue } from '../../../../src/log/batch/fair-queue.ts';
import { fc } from '../../../support/property.ts';

interface Item {
  readonly owner: string;
  readonly cost: number;
  readonly number: number;
}

const newQueue = (): FairQueue<Item> =>
  new FairQueue(
    ({ owner }) => owner,
    ({ cost }) => cost,
  );

function pushMany(queue: FairQueue<Item>, owner: string, count: number, cost = 1): void {
  for (let number = 0; number < count; number += 1) queue.push({ owner, cost, number });
}

/** Takes out this many items, and names their owners. */
function served(queue: FairQueue<Item>, count: number): string {
  return Array.from({ length: count }, () => queue.shift()!.owner).join('');
}

test('owners take turns, however many items one of them has', () => {
  const queue = newQueue();
  pushMany(queue, 'a', 100);
  expect(served(queue, 10)).toBe('aaaaaaaaaa');
  pushMany(queue, 'b', 3);
  expect(served(queue, 8)).toBe('bababaaa');
});

test('an owner with a single item is next', () => {
  const queue = newQueue();
  pushMany(queue, 'a', 1000);
  for (let round = 0; round < 5; round += 1) {
    served(queue, 7);
    pushMany(queue, 'b', 1);
    expect(served(queue, 2)).toContain('b');
  }
});

test('an item that costs more counts more', () => {
  const queue = newQueue();
  pushMany(queue, 'a', 100, 10);
  pushMany(queue, 'b', 100, 1);
  expect([...served(queue, 55)].filter((owner) => owner === 'a')).toHaveLength(5);
});

test('all waiting items can be taken back', () => {
  const queue = newQueue();
  pushMany(queue, 'a', 3);
  pushMany(queue, 'b', 2);
  expect(queue.takeAll()).toHaveLength(5);
  expect([queue.length, queue.peek(), queue.shift()]).toEqual([0, undefined, undefined]);
});

test('no item is lost or doubled, and each owner keeps its order', () => {
  const items = fc.array(
    fc.record({ owner: fc.constantFrom('a', 'b', 'c'), cost: fc.integer({ min: 1, max: 20 }), takes: fc.nat(2) }),
  );
  fc.assert(
    fc.property(items, (steps) => {
      const queue = newQueue();
      const taken: Item[] = [];
      steps.forEach(({ owner, cost, takes }, number) => {
        queue.push({ owner, cost, number });
        for (let take = 0; take < takes && queue.length > 0; take += 1) {
          const next = queue.peek()!;
          expect(queue.shift()).toBe(next);
          taken.push(next);
        }
      });
      while (queue.length > 0) taken.push(queue.shift()!);
      expect(taken.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(steps.map((_, number) => number));
      for (const owner of ['a', 'b', 'c']) {
        const numbers = taken.filter((item) => item.owner === owner).map(({ number }) => number);
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      }
    }),
  );
});
