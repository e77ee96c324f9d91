/** Many teams send as many slow bodies at once as the service lets them. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { metric, Neighbour } from './neighbours.ts';

const { api } = useOwnApi({ OUTCOME_WAIT_MS: '10000' });
const places = 64;
const rows = JSON.stringify(Array.from({ length: 2000 }, (_, n) => ({ n, text: 'x'.repeat(50) })));
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const used = (): Promise<number> => metric(api(), 'tablog_share_used', { share: 'bodies' });
const teamsOf = (count: number): Promise<Team[]> =>
  Promise.all(Array.from({ length: count }, () => api().createTeam()));

/** Begins loads of a team, of which so many bytes come, and no more. */
async function beginLoads({ client }: Team, count: number, bytes: number): Promise<void> {
  const { path } = await createTable(client, [{ n: 0, text: '' }]);
  const { hostname, port } = new URL(client.url);
  await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined);
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${client.token}\r\nContent-Type: application/json\r\nContent-Length: ${rows.length}\r\n\r\n`,
      );
      socket.write(rows.slice(0, bytes));
    }),
  );
}

test('seven teams that send little hold no place, and all others load as before', async () => {
  const attackers = await teamsOf(7);
  const neighbour = await Neighbour.begin(await api().createTeam());
  for (const attacker of attackers) await beginLoads(attacker, 70, 1000);
  const { client } = await api().createTeam();
  const { path } = await createTable(client, [{ n: 0, text: '' }]);
  expect(outcomeOf(await client.post(path, rows))).toBe('201');
  expect(await used()).toBe(0);
  for (const attacker of attackers)
    expect(
      outcomeOf(await attacker.client.post((await createTable(attacker.client, [{ n: 0, text: '' }])).path, rows)),
    ).toBe('201');
  expect(new Set(await neighbour.stop())).toEqual(new Set(['200']));
});

test('twelve teams that send the first part hold all places, until others ask for one', async () => {
  const attackers = await teamsOf(12);
  const neighbour = await Neighbour.begin(await api().createTeam());
  const others = await teamsOf(6);
  const paths = await Promise.all(
    others.map(async ({ client }) => (await createTable(client, [{ n: 0, text: '' }])).path),
  );
  for (const attacker of attackers) await beginLoads(attacker, 40, 100_000);
  await sleepUntil(async () => (await used()) === places, 'they hold all places');
  const outcomes = await Promise.all(
    others.map(async ({ client }, at) => outcomeOf(await client.post(paths[at]!, rows))),
  );
  expect(outcomes).toEqual(others.map(() => '201'));
  expect(new Set(await neighbour.stop())).toEqual(new Set(['200']));
});
