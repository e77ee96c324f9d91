import { expect, test } from '@jest/globals';
import { isDatabaseAway } from '../../src/database/database-away.ts';
import { HistoryChanged, HistoryGuard, IsStandby } from '../../src/database/history.ts';

/** A connection to a Postgres with this history. */
const connection = (history: string | null): Parameters<HistoryGuard['check']>[0] => ({ query: async () => ({ rows: [{ history }] }) });

test('connections are taken as long as they have the history of the first one', async () => {
  const guard = new HistoryGuard();
  const reasons: string[] = [];
  guard.onChanged((reason) => reasons.push(reason));
  expect(guard.known).toBeNull();
  await guard.check(connection('7 00000001'));
  await guard.check(connection('7 00000001'));
  await expect(guard.check(connection('7 00000002'))).rejects.toThrow(HistoryChanged);
  await expect(guard.check(connection('7 00000003'))).rejects.toThrow(HistoryChanged);
  expect(guard.known).toBe('7 00000001');
  expect(reasons).toEqual(['Postgres goes on from another history (7 00000002, it was 7 00000001): a standby was promoted, or a backup restored']);
});

test('a standby is away, and so is a Postgres in another history', async () => {
  const guard = new HistoryGuard();
  const refused = await guard.check(connection(null)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(IsStandby);
  expect(isDatabaseAway(refused)).toBe(true);
  expect(isDatabaseAway(new HistoryChanged('another'))).toBe(true);
  expect(guard.known).toBeNull();
});
