/** How much one team gets, in which order, and what the others get. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { FairShares, type Share } from '../../../../../src/api/http/limits/fair-shares.ts';
import { fc } from '../../../../support/property.ts';

const waitMs = 1000;
let shares: FairShares;
let refused: string[];
/** Who is inside, in the order in which they entered. */
let inside: string[];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  refused = [];
  shares = newShares(8);
  inside = [];
});

afterEach(() => {
  jest.useRealTimers();
});

function newShares(capacity: number, waitsMs = waitMs): FairShares {
  return new FairShares({
    name: 'bodies',
    capacity,
    waitMs: waitsMs,
    onRefused: (name, by) => refused.push(`${name} ${by}`),
  });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `name` begins with the letter of its team. `done` settles when it has left, or was refused. */
function come(name: string): { readonly leave: () => Promise<void>; readonly done: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = shares
    .run(name[0]!, async () => {
      inside.push(name);
      await promise;
      inside.splice(inside.indexOf(name), 1);
    })
    .catch((error: unknown) => error);
  return {
    leave: async () => {
      resolve();
      await done;
      await turn();
    },
    done,
  };
}

const many = (team: string, count: number): ReturnType<typeof come>[] =>
  Array.from({ length: count }, (_, at) => come(`${team}${at}`));
const ofTeam = (team: string): number => inside.filter((name) => name.startsWith(team)).length;

test('one team alone has at most a half of the places', async () => {
  many('a', 100);
  await turn();
  expect(inside).toEqual(['a0', 'a1', 'a2', 'a3']);
});

test('however much one team holds, the next one gets a place at once', async () => {
  many('a', 100);
  many('b', 100);
  many('c', 1);
  await turn();
  expect([ofTeam('a'), ofTeam('b'), ofTeam('c')]).toEqual([4, 2, 1]);
});

test('a free place goes to the longest waiter whose team holds less than remains free', async () => {
  const [first, second] = many('a', 4);
  const rest = many('b', 3);
  await turn();
  expect(inside).toEqual(['a0', 'a1', 'a2', 'a3', 'b0', 'b1']);
  come('a4');
  await first!.leave();
  // Team a had three when three were free, team b two.
  expect(inside).toEqual(['a1', 'a2', 'a3', 'b0', 'b1', 'b2']);
  await second!.leave();
  expect(inside).toEqual(['a2', 'a3', 'b0', 'b1', 'b2', 'a4']);
  for (const one of rest) await one.leave();
  expect(ofTeam('b')).toBe(0);
});

test('a request that finds no place in time is refused, and takes none later', async () => {
  const [first, ...others] = many('a', 5);
  await turn();
  jest.advanceTimersByTime(waitMs - 1);
  await turn();
  expect(inside).toHaveLength(4);
  jest.advanceTimersByTime(1);
  expect(await others.at(-1)!.done).toMatchObject({ type: 'rate_limited' });
  expect(refused).toEqual(['bodies team']);
  await first!.leave();
  expect(inside).toEqual(['a1', 'a2', 'a3']);
});

test('failed work releases its place and reports its error', async () => {
  const broken = new Error('broken');
  for (let at = 0; at < 20; at += 1) {
    await expect(
      shares.run('a', async () => {
        throw broken;
      }),
    ).rejects.toBe(broken);
  }
  many('a', 5);
  await turn();
  expect(inside).toHaveLength(4);
});

test('a single place can be taken', async () => {
  shares = newShares(1);
  const first = come('a0');
  come('b0');
  await turn();
  expect(inside).toEqual(['a0']);
  await first.leave();
  expect(inside).toEqual(['b0']);
});

test('a refusal says whether the own team or all teams hold the places', async () => {
  many('a', 4);
  many('b', 2);
  many('c', 1);
  const [last] = many('d', 1);
  const late = come('e0');
  await turn();
  expect(inside).toContain('d0');
  jest.advanceTimersByTime(waitMs);
  expect(await late.done).toMatchObject({ type: 'service_unavailable' });
  expect(refused).toEqual(['bodies process']);
  await last!.leave();
});

test('units that are released early can be taken by others', async () => {
  const whole = await shares.take('a', 8);
  const next = shares.take('b', 3);
  whole.shrink(6);
  whole.shrink(7);
  expect(shares.used).toBe(6);
  whole.shrink(5);
  const share = await next;
  expect(shares.used).toBe(8);
  share.release();
  share.release();
  whole.release();
  expect(shares.used).toBe(0);
});

test('a request for more than the capacity takes all units', async () => {
  (await shares.take('a', 1000)).release();
  expect(shares.used).toBe(0);
});

test('in any sequence no more units are held than exist, no team beside others holds more than remains, and all are released', async () => {
  jest.useRealTimers();
  const step = fc.record({
    team: fc.constantFrom('a', 'b', 'c'),
    units: fc.integer({ min: 1, max: 9 }),
    releases: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const shares = newShares(16, 2 ** 30);
      const held: Share[] = [];
      const all: Promise<unknown>[] = [];
      for (const { team, units, releases } of steps) {
        if (releases) held.shift()?.release();
        all.push(Promise.resolve(shares.take(team, units)).then((share) => held.push(share)));
        await turn();
        expect(shares.used).toBeLessThanOrEqual(16);
      }
      while (held.length > 0) {
        held.shift()!.release();
        await turn();
      }
      await Promise.all(all);
      expect(shares.used).toBe(0);
    }),
  );
});

test('one team has no more than the maximum of each, however much remains', async () => {
  shares = new FairShares({
    name: 'signed_puts',
    capacity: 100,
    holder: 'upload',
    eachAtMost: 2,
    waitMs,
    onRefused: (name, by) => refused.push(`${name} ${by}`),
  });
  const [first, , third] = many('a', 3);
  many('b', 3);
  await turn();
  expect(inside).toEqual(['a0', 'a1', 'b0', 'b1']);
  await first!.leave();
  expect(inside).toEqual(['a1', 'b0', 'b1', 'a2']);
  const last = come('a3');
  jest.advanceTimersByTime(waitMs);
  expect(await last.done).toMatchObject({
    type: 'rate_limited',
    message: expect.stringMatching(/^The upload has too many requests/),
  });
  expect(refused).toEqual(['signed_puts team', 'signed_puts team']);
  await third!.leave();
});

test('while several teams take units, each has at most the shared maximum; a second later one team alone may have more', async () => {
  shares = new FairShares({
    name: 'writes',
    capacity: 16,
    eachWhenShared: 2,
    waitMs: 10_000,
    onRefused: () => undefined,
  });
  const alone = ['a1', 'a2', 'a3', 'a4'].map(come);
  await turn();
  expect(inside).toEqual(['a1', 'a2', 'a3', 'a4']);
  const other = come('b1');
  const waiting = ['a5', 'a6'].map(come);
  await alone[0]!.leave();
  await alone[1]!.leave();
  expect(inside).toEqual(['a3', 'a4', 'b1']);
  await alone[2]!.leave();
  expect(inside).toEqual(['a4', 'b1', 'a5']);
  jest.advanceTimersByTime(1001);
  await other.leave();
  expect(inside).toEqual(['a4', 'a5', 'a6']);
  for (const each of [alone[3]!, ...waiting]) await each.leave();
  expect(shares.used).toBe(0);
});

test('kept units go only to teams that hold none', async () => {
  shares = new FairShares({ name: 'bodies', capacity: 8, kept: 2, waitMs, onRefused: () => undefined });
  many('a', 100);
  many('b', 100);
  await turn();
  expect([ofTeam('a'), ofTeam('b')]).toEqual([4, 2]);
  many('c', 100);
  many('d', 1);
  await turn();
  expect([ofTeam('a'), ofTeam('b'), ofTeam('c'), ofTeam('d')]).toEqual([4, 2, 1, 1]);
});

test('while a team that holds nothing waits, slow holders are ended, first of the largest team, and no more than necessary', async () => {
  const ended: string[] = [];
  const slow = new Set(['a0', 'a1', 'b0', 'c0']);
  for (const [name, units] of [
    ['a0', 2],
    ['a1', 2],
    ['b0', 1],
    ['b1', 1],
    ['c0', 1],
    ['d0', 1],
  ] as const) {
    const share = await shares.take(name[0]!, units);
    share.mayBeEnded({
      isSlow: () => slow.has(name),
      end: () => {
        ended.push(name);
        share.release();
      },
    });
  }
  // A team that holds some waits without harm to others.
  const own = come('a9');
  jest.advanceTimersByTime(waitMs - 1);
  await turn();
  expect(ended).toEqual([]);
  const other = come('e0');
  jest.advanceTimersByTime(600);
  await turn();
  expect([ended, inside]).toEqual([['a0'], ['e0']]);
  expect(await own.done).toMatchObject({ type: 'rate_limited' });
  await other.leave();
});
