import { expect, test } from '@jest/globals';
import { isDatabaseAway } from '../../../../src/storage/database/database-away.ts';
import { HistoryChanged, HistoryGuard, IsStandby, type Connection } from '../../../../src/storage/database/history.ts';

/** A connection to a Postgres with this history, started then. */
const connection = (history: string | null, started = 'noon'): Connection => {
  return { query: async () => ({ rows: [{ history, started }] }) } as unknown as Connection;
};

test('connections are accepted while they have the history of the first one', async () => {
  const guard = new HistoryGuard();
  const reasons: string[] = [];
  guard.onChanged((reason) => reasons.push(reason));
  expect(guard.known).toBeNull();
  await guard.check(connection('7 00000001'));
  await guard.check(connection('7 00000001'));
  await expect(guard.check(connection('7 00000002'))).rejects.toThrow(HistoryChanged);
  await expect(guard.check(connection('7 00000003'))).rejects.toThrow(HistoryChanged);
  expect(guard.known).toBe('7 00000001');
  expect(reasons).toEqual([
    'Postgres goes on from another history (7 00000002, it was 7 00000001): a standby was promoted, or a backup restored',
  ]);
});

test('a standby counts as away, and so does a Postgres with another history', async () => {
  const guard = new HistoryGuard();
  const refused = await guard.check(connection(null)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(IsStandby);
  expect(isDatabaseAway(refused)).toBe(true);
  expect(isDatabaseAway(new HistoryChanged('another'))).toBe(true);
  expect(guard.known).toBeNull();
});

test('the first connections after a restart are checked until one has passed', async () => {
  const guard = new HistoryGuard();
  const checked: Connection[] = [];
  guard.onRestarted(async (tx) => {
    checked.push(tx);
    if (checked.length === 1) throw new HistoryChanged('the head has fallen');
  });
  // Any connection of the process tells when the server had been started.
  await guard.check(connection('7 00000001'));
  const [first, second] = [connection('7 00000001', 'evening'), connection('7 00000001', 'evening')];
  await expect(guard.checkAfterRestart(first)).rejects.toThrow('the head has fallen');
  await guard.checkAfterRestart(second);
  await guard.checkAfterRestart(connection('7 00000001', 'evening'));
  expect(checked).toEqual([first, second]);
});
