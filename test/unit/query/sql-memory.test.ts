import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { SqlMemory, type ProcessMemory } from '../../../src/query/engine/sql-memory.ts';
import { sleepUntil } from '../../support/server.ts';

const never = new AbortController().signal;

/** Memory that `set` changes, and SQL that goes on until it is interrupted, or told to end. */
function queries() {
  let memory: ProcessMemory = { resident: 0, mapped: 0 };
  const guard = new SqlMemory({ residentBytesMax: 100, mappedBytesMax: 1000, everyMs: 1, read: () => memory });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const query = (name: string, signal = never): Promise<string> => guard.run(signal, (interrupted) => {
    begun.push(name);
    return new Promise((resolve, reject) => {
      ends.set(name, () => resolve(`answer to ${name}`));
      interrupted.addEventListener('abort', () => reject(interrupted.reason as Error));
      if (interrupted.aborted) reject(interrupted.reason as Error);
    });
  });
  return { begun, query, end: (name: string) => ends.get(name)!(), set: (taken: Partial<ProcessMemory>) => (memory = { ...memory, ...taken }) };
}

test('SQL within the memory is answered', async () => {
  const { query, end, set } = queries();
  set({ resident: 100, mapped: 1000 });
  const asked = query('a');
  await setImmediate();
  end('a');
  expect(await asked).toBe('answer to a');
});

test.each([{ resident: 101 }, { mapped: 1001 }])('SQL that is alone at work when the process takes too much (%j) is refused', async (taken) => {
  const { begun, query, set } = queries();
  const asked = query('a');
  set(taken);
  await expect(asked).rejects.toMatchObject({ type: 'limit_exceeded' });
  expect(begun).toEqual(['a']);
});

test('of several, only SQL that takes too much alone is refused, and SQL that comes meanwhile waits', async () => {
  const { begun, query, end, set } = queries();
  const refused = expect(query('a')).rejects.toMatchObject({ type: 'limit_exceeded' });
  const innocent = query('b');
  set({ resident: 101 });
  // Interrupted together, then the first one again, alone: and it takes too much again.
  await sleepUntil(async () => begun.length === 3, 'the first one runs alone');
  const late = query('c');
  await refused;
  set({ resident: 50 });
  await sleepUntil(async () => begun.filter((name) => name === 'b').length === 2 && begun.at(-1) === 'b', 'the other one runs alone');
  expect(begun).toEqual(['a', 'b', 'a', 'b']);
  end('b');
  expect(await innocent).toBe('answer to b');
  await sleepUntil(async () => begun.at(-1) === 'c', 'the late one runs');
  end('c');
  expect(await late).toBe('answer to c');
});

test('SQL that nobody waits for any more rejects as its signal says', async () => {
  const { query } = queries();
  const gone = new AbortController();
  const asked = query('a', gone.signal);
  gone.abort(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
});
