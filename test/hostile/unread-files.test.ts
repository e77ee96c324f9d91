/** Readers that ask for large files and do not read them. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { upload, withdraw, type CreatedUpload } from '../support/uploads.ts';
import { askAndReadNothing, metric, Neighbour, neighbourOf } from './neighbours.ts';

const budget = 4 * 1024 * 1024;
/** More than the systems of both sides keep of what is not read. */
const size = 12 * 1024 * 1024;
const bytes = Buffer.alloc(size, 'x');
const { api } = useOwnApi({
  RESPONSE_BYTES_MAX: String(budget),
  OUTCOME_WAIT_MS: '6000',
  MAINTENANCE_INTERVAL_MS: '3600000',
});
const sockets: Socket[] = [];
const share = { share: 'outgoing_bytes' };

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

type File = CreatedUpload & { readonly url: string };

async function readersOf({ client }: Team, { url }: File, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) sockets.push(await askAndReadNothing(client, new URL(url).pathname));
}

async function outcomeOfGet({ url }: File): Promise<string> {
  const response = await fetch(url);
  const body = await response.arrayBuffer();
  return response.ok
    ? `${response.status} ${body.byteLength}`
    : `${response.status} ${JSON.parse(Buffer.from(body).toString()).error.type}`;
}

const used = (team: Team): Promise<number> => metric(team.client, 'tablog_share_used', share);

test('hold a half of what there is, are told to wait, and files of others are served', async () => {
  const team = await api().createTeam();
  const file = await upload(team.client, bytes);
  const neighbour = await Neighbour.begin(await neighbourOf(api(), team));
  const other = await upload((await api().createTeam()).client, bytes);
  await readersOf(team, file, 10);
  await sleepUntil(
    async () => (await metric(team.client, 'tablog_share_refused_total', { ...share, by: 'team' })) >= 6,
    'readers are refused',
  );
  expect(await used(team)).toBe(budget / 2);
  expect(await outcomeOfGet(file)).toBe('429 rate_limited');
  expect(await outcomeOfGet(other)).toBe(`200 ${size}`);

  const outcomes = await neighbour.stop();
  expect(outcomes.length).toBeGreaterThan(10);
  expect(new Set(outcomes)).toEqual(new Set(['200']));
  for (const socket of sockets.splice(0)) socket.destroy();
  await sleepUntil(async () => (await used(team)) === 0, 'what they held is given back');
  expect(await outcomeOfGet(file)).toBe(`200 ${size}`);
  await sleepUntil(async () => (await used(team)) === 0, 'what was read is given back');
});

test('a file that is withdrawn while its reader waits is 404', async () => {
  const team = await api().createTeam();
  const [file, withdrawn] = [await upload(team.client, bytes), await upload(team.client, 'bytes')];
  await readersOf(team, file, 4);
  await sleepUntil(async () => (await used(team)) === budget / 2, 'there is room for no more');
  const asked = outcomeOfGet(withdrawn);
  expect(outcomeOf(await withdraw(team.client, withdrawn))).toBe('200');
  const name = Buffer.from(new URL(withdrawn.url).pathname.split('/')[2]!, 'base64url').toString('hex');
  await rm(join(api().filesFolder, 'files', name.slice(0, 2), name));
  for (const socket of sockets.splice(0)) socket.destroy();
  expect(await asked).toBe('404 not_found');
});
