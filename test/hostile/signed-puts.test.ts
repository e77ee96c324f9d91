/** Whoever has the signed URL of an upload, and sends to it as often as they can. */
import { readdir, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { complete, postUpload, picture, sendBytes, withdraw } from '../support/uploads.ts';
import { metric, Neighbour, neighbourOf } from './neighbours.ts';

const { api } = useOwnApi({ OUTCOME_WAIT_MS: '5000' });
const whole = Buffer.alloc(4 * 1024 * 1024, 'x');
const part = whole.subarray(0, whole.length / 2);
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface OpenPut {
  readonly socket: Socket;
  /** What has been answered so far. */
  answer(): string;
}

/** Sends the head and the first half of a file, and no more. */
async function beginPut(location: string): Promise<OpenPut> {
  const { hostname, port, pathname, search } = new URL(location);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket);
  let answer = '';
  socket
    .setEncoding('latin1')
    .on('data', (text: string) => {
      answer += text;
    })
    .on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: ${picture.contentType}\r\nContent-Length: ${whole.length}\r\n\r\n`,
  );
  socket.write(part);
  return { socket, answer: () => answer };
}

/** The sizes of the files that PUTs are being received into. */
async function temporaries(): Promise<number[]> {
  const folder = join(api().filesFolder, 'temporary');
  return Promise.all(
    (await readdir(folder)).map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
}

test('has two of them read, and its neighbours notice nothing', async () => {
  const team = await api().createTeam();
  const neighbour = await Neighbour.begin(await neighbourOf(api(), team));
  const [attacked, other] = [await postUpload(team.client), await postUpload(team.client)];
  const puts = await Promise.all(Array.from({ length: 20 }, () => beginPut(attacked.location)));
  const refused = (): OpenPut[] => puts.filter(({ answer }) => answer().startsWith('HTTP/1.1 429'));
  await sleepUntil(() => refused().length === 18, 'all but two are refused');
  for (const put of refused())
    expect(put.answer()).toMatch(/\r\nretry-after: 1\r\n.*"rate_limited".*The upload has too many requests/is);
  await sleepUntil(
    async () => (await temporaries()).every((size) => size === part.length),
    'what was sent has arrived',
  );
  expect(await temporaries()).toHaveLength(2);
  expect(await metric(team.client, 'tablog_share_used', { share: 'signed_puts' })).toBe(2);
  expect(await metric(team.client, 'tablog_share_refused_total', { share: 'signed_puts', by: 'team' })).toBe(18);
  expect(await sendBytes(other, whole)).toBe('200');

  const waiting = sendBytes(attacked, whole);
  const [one, two] = puts.filter((put) => !refused().includes(put));
  one!.socket.destroy();
  expect(await waiting).toBe('200');
  two!.socket.write(part);
  await sleepUntil(() => two!.answer().startsWith('HTTP/1.1 200'), 'the other one goes on');
  expect(await temporaries()).toEqual([]);
  expect(outcomeOf(await complete(team.client, attacked))).toBe('200');
  expect(new Set(await neighbour.stop())).toEqual(new Set(['200']));
});

test('keeps nothing of an upload that was given up meanwhile', async () => {
  const { client } = await api().createTeam();
  const upload = await postUpload(client);
  const put = await beginPut(upload.location);
  await sleepUntil(async () => (await temporaries()).includes(part.length), 'the first half has arrived');
  expect(outcomeOf(await withdraw(client, upload))).toBe('200');
  put.socket.write(part);
  await sleepUntil(() => put.answer() !== '', 'it is answered');
  expect(put.answer()).toMatch(/^HTTP\/1.1 404 .*upload_not_found/s);
  expect(await readdir(join(api().filesFolder, 'arrived'))).not.toContain(upload.id);
  expect(await temporaries()).toEqual([]);
});
