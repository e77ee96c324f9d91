/** Clients that read a file more slowly than the floor are cut off, and its stream ends. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LocalFileStore } from '../../../../../src/storage/files/local-file-store.ts';
import { newFileName } from '../../../../../src/storage/files/new-file-name.ts';
import { keysOf } from '../../../../support/secret-keys.ts';
import { buildEdge, listen, RawClient } from './edge-app.ts';

/** More than the systems of both sides keep of what is not read. */
const size = 32 * 1024 * 1024;
const name = newFileName();
let folder: string;
let store: LocalFileStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-files-'));
  store = await LocalFileStore.open({ folder, keys: keysOf(1), publicUrl: null });
  const uploadId = randomUUID();
  await store.receive(
    uploadId,
    (async function* () {
      yield Buffer.alloc(size, 'x');
    })(),
    size,
  );
  await store.seal({ uploadId }, name);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Asks for the file with a client that then reads as it likes; resolves to its stream in the service. */
async function ask(windowMs = 500): Promise<{ readonly client: RawClient; readonly stream: Readable }> {
  const { promise: asked, resolve } = Promise.withResolvers<Readable>();
  const { app } = buildEdge(
    (edge) => {
      edge.get('/file', { config: { public: true } }, async (_request, reply) => {
        const stream = (await store.read(name))!;
        resolve(stream);
        return reply.send(stream);
      });
    },
    { readingFloor: { bytesPerSecond: 1024, windowMs } },
  );
  const client = await RawClient.open(await listen(app));
  client.socket.pause();
  client.send('GET /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  return { client, stream: await asked };
}

test('a client that reads nothing is cut off', async () => {
  const { stream } = await ask();
  await once(stream, 'close');
  expect(stream.readableEnded).toBe(false);
});

test('a client that reads in small parts, but not too slowly, gets the whole file', async () => {
  const { client } = await ask(3000);
  const ended = once(client.socket, 'end');
  let isOver = false;
  client.socket.once('end', () => {
    isOver = true;
  });
  while (!isOver) {
    client.socket.resume();
    await sleep(10);
    client.socket.pause();
    await sleep(10);
    client.socket.resume();
  }
  await ended;
  expect(client.received.length).toBeGreaterThan(size);
});
