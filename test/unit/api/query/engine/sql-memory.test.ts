import { expect, test } from '@jest/globals';
import { sleepUntil } from '../../../../support/server.ts';
import { SqlMemory, type ProcessMemory } from '../../../../../src/api/query/engine/sql-memory.ts';

const never = new AbortController().signal;

/**
 * SQL that goes on until it is interrupted, or ended. `read`: what the process takes with that at work. `onBegin`:
 * called when one begins, the first time or again.
 */
function queries(read: (atWork: ReadonlySet<string>) => ProcessMemory, onBegin: (name: string, nth: number) => void) {
  const atWork = new Set<string>();
  const kept: number[] = [];
  const memory = new SqlMemory({
    residentBytesMax: 100,
    keptBytesMax: 80,
    mappedBytesMax: 1000,
    everyMs: 1,
    read: () => read(atWork),
    onInterrupt: () => undefined,
    onKept: ({ resident }) => kept.push(resident),
  });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const query = (name: string, signal = never): Promise<string> =>
    memory.run(signal, async (interrupted) => {
      begun.push(name);
      atWork.add(name);
      const ended = Promise.withResolvers<string>();
      ends.set(name, () => ended.resolve(`answer to ${name}`));
      interrupted.addEventListener('abort', () => ended.reject(interrupted.reason as Error));
      onBegin(name, begun.filter((other) => other === name).length);
      try {
        return await ended.promise;
      } finally {
        atWork.delete(name);
      }
    });
  const end = (name: string): void => ends.get(name)!();
  return { begun, kept, query, end };
}

test('SQL within the memory is answered', async () => {
  const { query, end } = queries(
    () => ({ resident: 100, mapped: 1000 }),
    (name) => setImmediate(() => end(name)),
  );
  expect(await query('a')).toBe('answer to a');
});

test.each([
  { resident: 101, mapped: 0 },
  { resident: 0, mapped: 1001 },
])('SQL is refused if it runs alone while the process takes too much (%j)', async (taken) => {
  const { begun, query } = queries(
    () => taken,
    () => undefined,
  );
  await expect(query('a')).rejects.toMatchObject({ type: 'limit_exceeded' });
  expect(begun).toEqual(['a']);
});

test('only SQL that takes too much by itself is refused, and SQL that arrives meanwhile waits', async () => {
  const late: Promise<string>[] = [];
  const { begun, query, end } = queries(
    (atWork) => ({ resident: atWork.has('large') ? 101 : 50, mapped: 0 }),
    (name, nth) => {
      // The large one begins again, alone.
      if (name === 'large' && nth === 2) late.push(query('late'));
      if ((name === 'small' && nth === 2) || name === 'late') setImmediate(() => end(name));
    },
  );
  const large = query('large');
  const small = query('small');
  await expect(large).rejects.toMatchObject({ type: 'limit_exceeded' });
  expect([await small, await late[0]]).toEqual(['answer to small', 'answer to late']);
  expect(begun).toEqual(['large', 'small', 'large', 'small', 'late']);
});

test('a process that keeps too much memory without running SQL is replaced soon, before more SQL begins', async () => {
  let resident = 80;
  const { kept, query, end } = queries(
    () => ({ resident, mapped: 0 }),
    (name) => setImmediate(() => end(name)),
  );
  await query('a');
  expect(kept).toEqual([]);
  resident = 81;
  await query('b');
  expect(kept).toEqual([81]);
  await sleepUntil(() => kept.length === 2, 'it is looked at while no SQL is at work');
});

test('SQL that nobody waits for any more rejects with the reason of its signal', async () => {
  const { query } = queries(
    () => ({ resident: 0, mapped: 0 }),
    () => undefined,
  );
  const gone = new AbortController();
  const asked = query('a', gone.signal);
  gone.abort(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
});
