/** Continuations are bounded by their number and bytes; who has most loses one first. */
import { expect, test } from '@jest/globals';
import { Continuations, type Continuation } from '../../../../../src/api/query/engine/continuations.ts';

/** A continuation of a team, with a query of so many characters; `onReleased` is called when it is forgotten. */
function continuationOf(teamId: string, characters: number, onReleased: () => void): Continuation {
  const held = { copy: {}, version: 1n, release: onReleased } as unknown as Continuation['held'];
  return { asker: { teamId, appId: null }, held, columns: 1000, query: 'x'.repeat(characters), prefix: '', offset: 1 };
}

test('the continuations of many teams share the bytes, and a team with few keeps its own', () => {
  const continuations = new Continuations();
  const small = continuations.keep(continuationOf('small', 100, () => undefined));
  const kept = new Map<string, number>();
  for (let n = 0; n < 300; n += 1) {
    const team = `team ${n % 30}`;
    kept.set(team, (kept.get(team) ?? 0) + 1);
    continuations.keep(continuationOf(team, 200_000, () => kept.set(team, kept.get(team)! - 1)));
  }
  expect(continuations.bytes).toBeLessThanOrEqual(24 * 1024 * 1024);
  expect(continuations.get('small', small)).toBeDefined();
  expect(Math.max(...kept.values()) - Math.min(...kept.values())).toBeLessThanOrEqual(1);
});

test('a team has at most 1,000; the least recently used one is dropped, and its copy is released', () => {
  const continuations = new Continuations();
  let released = 0;
  const keep = (): string =>
    continuations.keep(
      continuationOf('team', 10, () => {
        released += 1;
      }),
    );
  const [first, second] = [keep(), keep()];
  for (let n = 2; n < 1000; n += 1) keep();
  expect(released).toBe(0);
  expect(continuations.get('team', first)).toBeDefined();
  keep();
  expect([
    released,
    continuations.get('team', first) === undefined,
    continuations.get('team', second) === undefined,
  ]).toEqual([1, false, true]);
});
