/** Jobs are noted in the background: many at once, and again if that failed. */
import { expect, test } from '@jest/globals';
import type pg from 'pg';
import type { Logger } from 'pino';
import { JobNotes, type JobNote } from '../../../../src/api/jobs/job-notes.ts';

const teamId = '01a1ff11-7ce6-7178-9b08-264f4408192e';
const noteOf = (n: number): JobNote => ({
  teamId,
  notAfter: n,
  commandId: teamId,
  jobId: `job ${n}`,
  operation: 'addRows',
  appId: null,
  tableId: null,
  stashId: null,
});
const asked = { teamId, appId: null, since: 0, before: null, limit: 10 };

/** Notes on a Postgres that is away or not, and how many each statement has written. */
function prepare() {
  const written: number[] = [];
  const warnings: string[] = [];
  const state = { isAway: false };
  const query = async (text: string, values: readonly (readonly unknown[])[]): Promise<object> => {
    if (state.isAway) throw new Error('away');
    if (text.startsWith('insert')) written.push(values[0]!.length);
    return { rows: [] };
  };
  const notes = new JobNotes({
    pool: { query } as unknown as pg.Pool,
    logger: { warn: (_: unknown, words: string) => void warnings.push(words) } as unknown as Logger,
  });
  return { notes, written, warnings, state };
}

test('notes are stored together, before a list is read and when the store is closed', async () => {
  const { notes, written, warnings } = prepare();
  for (let n = 0; n < 2500; n += 1) notes.add(noteOf(n));
  expect(written).toEqual([]);
  await notes.list(asked);
  expect(written).toEqual([1000, 1000, 500]);
  notes.add(noteOf(0));
  await notes.close();
  await notes.close();
  expect([written, warnings]).toEqual([[1000, 1000, 500, 1], []]);
});

test('notes are stored a moment later without further calls', async () => {
  const { notes, written } = prepare();
  notes.add(noteOf(1));
  while (written.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(written).toEqual([1]);
  await notes.close();
});

test('notes are stored again after a failure, as many as there is room for', async () => {
  const { notes, written, warnings, state } = prepare();
  state.isAway = true;
  for (let n = 0; n < 12_000; n += 1) notes.add(noteOf(n));
  await expect(notes.list(asked)).rejects.toThrow('away');
  expect(warnings).toEqual([expect.stringContaining('another attempt follows')]);
  state.isAway = false;
  await notes.close();
  expect(written).toEqual(Array.from({ length: 10 }, () => 1000));
});
