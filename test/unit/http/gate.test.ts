/** How many are let in at once, in which order, and how many of one team. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Gate } from '../../../src/http/limits/gate.ts';
import { NotAppended } from '../../../src/log/event-log.ts';

const waitMs = 1000;
let gate: Gate;
/** Who is inside, in the order in which they entered. */
let inside: string[];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  gate = new Gate(8, waitMs);
  inside = [];
});

afterEach(() => {
  jest.useRealTimers();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `name` begins with the letter of its team. `done` settles when it has left, or was refused. */
function come(name: string): { readonly leave: () => Promise<void>; readonly done: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = gate.run(name[0]!, async () => {
    inside.push(name);
    await promise;
    inside.splice(inside.indexOf(name), 1);
  }).catch((error: unknown) => error);
  return {
    leave: async () => {
      resolve();
      await done;
      await turn();
    },
    done,
  };
}

const many = (team: string, count: number): ReturnType<typeof come>[] => Array.from({ length: count }, (_, at) => come(`${team}${at}`));
const ofTeam = (team: string): number => inside.filter((name) => name.startsWith(team)).length;

test('one team alone has at most a half of the places', async () => {
  many('a', 100);
  await turn();
  expect(inside).toEqual(['a0', 'a1', 'a2', 'a3']);
});

test('whatever another team holds back, the next one has a place at once', async () => {
  many('a', 100);
  many('b', 100);
  many('c', 1);
  await turn();
  expect([ofTeam('a'), ofTeam('b'), ofTeam('c')]).toEqual([4, 2, 1]);
});

test('a place goes to who waits longest, of those whose team has fewer than are free', async () => {
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

test('who finds no place in time is refused, and takes none later', async () => {
  const [first, ...others] = many('a', 5);
  await turn();
  jest.advanceTimersByTime(waitMs - 1);
  await turn();
  expect(inside).toHaveLength(4);
  jest.advanceTimersByTime(1);
  expect(await others.at(-1)!.done).toBeInstanceOf(NotAppended);
  await first!.leave();
  expect(inside).toEqual(['a1', 'a2', 'a3']);
});

test('work that fails leaves its place, and its error is told', async () => {
  const broken = new Error('broken');
  for (let at = 0; at < 20; at += 1) {
    await expect(gate.run('a', async () => { throw broken; })).rejects.toBe(broken);
  }
  many('a', 5);
  await turn();
  expect(inside).toHaveLength(4);
});

test('a gate of one place lets one in', async () => {
  gate = new Gate(1, waitMs);
  const first = come('a0');
  come('b0');
  await turn();
  expect(inside).toEqual(['a0']);
  await first.leave();
  expect(inside).toEqual(['b0']);
});
