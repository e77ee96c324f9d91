/** Readers that ask for large pages and do not read them. */
import { afterEach, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { askAndReadNothing, metric, Neighbour, neighbourOf } from './neighbours.ts';

const budget = 64 * 1024 * 1024;
const { api } = useOwnApi({ RESPONSE_BYTES_MAX: String(budget), OUTCOME_WAIT_MS: '1000' });
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A team with a table of several pages of 16 MiB. */
async function teamWithPages(): Promise<{ readonly team: Team; readonly path: string }> {
  const team = await api().createTeam();
  const rows = Array.from({ length: 5000 }, () => ({ text: 'x'.repeat(2000) }));
  const { path } = await createTable(team.client, rows);
  for (let count = 0; count < 2; count += 1) expect(outcomeOf(await team.client.post(path, rows))).toBe('201');
  return { team, path };
}

test('hold a half of what there is, are told to wait, and others read and write as before', async () => {
  const { team, path } = await teamWithPages();
  const neighbour = await Neighbour.begin(await neighbourOf(api(), team));
  const other = await teamWithPages();
  for (let count = 0; count < 10; count += 1) sockets.push(await askAndReadNothing(team.client, path));
  await sleepUntil(
    async () => (await metric(team.client, 'tablog_share_refused_total', { share: 'outgoing_bytes', by: 'team' })) >= 8,
    'readers are refused',
  );
  expect(await metric(team.client, 'tablog_share_used', { share: 'outgoing_bytes' })).toBeLessThanOrEqual(
    budget / 2 + 2 * 1024 * 1024,
  );
  // Small pages of the same team wait too, whatever they take of the rest.
  const refused = await team.client.get(path);
  expect(outcomeOf(refused)).toBe('429 rate_limited');
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(outcomeOf(await other.team.client.get(other.path))).toBe('200');

  const outcomes = await neighbour.stop();
  expect(outcomes.length).toBeGreaterThan(10);
  expect(new Set(outcomes)).toEqual(new Set(['200']));
  // Some more go away before they have their share.
  for (let count = 0; count < 3; count += 1) (await askAndReadNothing(team.client, path)).destroy();
  for (const socket of sockets) socket.destroy();
  await sleepUntil(
    async () => (await metric(team.client, 'tablog_share_used', { share: 'outgoing_bytes' })) === 0,
    'what they held is given back',
  );
  expect(outcomeOf(await team.client.get(path))).toBe('200');
});

test('many teams may hold all there is until another team asks, and then slow readers are cut off', async () => {
  const victim = await teamWithPages();
  // They read 32 KiB a second, which is enough while nobody waits.
  const reading = setInterval(() => sockets.forEach((socket) => socket.read(16 * 1024)), 500);
  try {
    for (let count = 0; count < 3; count += 1) {
      const { team, path } = await teamWithPages();
      for (let at = 0; at < 3; at += 1) sockets.push(await askAndReadNothing(team.client, path));
    }
    await sleepUntil(
      async () =>
        (await metric(victim.team.client, 'tablog_share_used', { share: 'outgoing_bytes' })) >
        budget - 16 * 1024 * 1024,
      'they hold all',
    );
    await sleepUntil(
      async () => outcomeOf(await victim.team.client.get(victim.path)) === '200',
      'the other team reads',
      60_000,
    );
  } finally {
    clearInterval(reading);
  }
});
