/** Files of the engine are read into memory that is used again and again (src/api/query/engine-file.ts). */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate as immediate } from 'node:timers/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { EngineFile } from '../../../../src/api/query/engine-file.ts';
import type { EngineAddress } from '../../../../src/api/query/engine-addresses.ts';

/** Asks a server that answers so. */
async function asking(
  answer: (response: ServerResponse, asked: unknown) => Promise<void>,
  work: (address: EngineAddress) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => {
    void json(request).then((asked) =>
      answer(response, { asked, url: request.url, authorization: request.headers.authorization }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: 'secret' });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Keeps what it is given, after a while: its bytes may change once it was taken. */
class SlowCopy extends Writable {
  readonly parts: Buffer[] = [];

  override _write(part: Buffer, _encoding: BufferEncoding, done: () => void): void {
    setImmediate(() => {
      this.parts.push(Buffer.from(part));
      done();
    });
  }
}

const never = new AbortController().signal;

/** Parts of all sizes, more than the memory of a file holds. */
const parts = Array.from({ length: 300 }, (_, at) => randomBytes([1, 15, 700, 65_536, 200_000][at % 5]!));

async function send(response: ServerResponse, some: readonly Buffer[]): Promise<void> {
  for (const part of some) {
    response.write(part);
    await immediate();
  }
}

test('a slow reader gets all bytes unchanged, also compressed', async () => {
  await asking(
    async (response) => {
      response.writeHead(200, { 'Tablog-Version': '7' });
      await send(response, parts);
      response.end();
    },
    async (address) => {
      for (const between of [[], [createGzip({ level: 1 }), createGunzip()]]) {
        const { status, headers, file } = await EngineFile.open(address, '/export', {}, never);
        expect([status, headers['tablog-version']]).toEqual([200, '7']);
        const copy = new SlowCopy();
        await pipeline([file, ...between, copy]);
        expect(Buffer.concat(copy.parts).equals(Buffer.concat(parts))).toBe(true);
      }
    },
  );
});

test('bytes that are read after the connection has ended are complete', async () => {
  const ended = Promise.withResolvers<void>();
  await asking(
    async (response) => {
      response.socket!.once('close', () => ended.resolve());
      response.writeHead(200).end('the file');
    },
    async (address) => {
      const { file } = await EngineFile.open(address, '/export', {}, never);
      await ended.promise;
      for (let turn = 0; turn < 10; turn += 1) await immediate();
      const copy = new SlowCopy();
      await pipeline(file, copy);
      expect(Buffer.concat(copy.parts).toString()).toBe('the file');
    },
  );
});

test('the request, and an answer that is an error', async () => {
  await asking(
    async (response, asked) => {
      response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(asked));
    },
    async (address) => {
      const { status, file } = await EngineFile.open(address, '/export', { name: 'ä' }, never);
      expect([status, await json(file)]).toEqual([
        500,
        { asked: { name: 'ä' }, url: '/export', authorization: 'secret' },
      ]);
    },
  );
});

test('a file that breaks off, or never begins, is an error', async () => {
  await asking(
    async (response) => {
      response.writeHead(200);
      await send(response, parts.slice(0, 50));
      response.destroy();
    },
    async (address) => {
      const { file } = await EngineFile.open(address, '/export', {}, never);
      await expect(pipeline(file, new SlowCopy())).rejects.toThrow();
    },
  );
  await asking(
    async (response) => {
      response.destroy();
    },
    async (address) => {
      await expect(EngineFile.open(address, '/export', {}, never)).rejects.toThrow();
    },
  );
  await asking(
    async () => {},
    async (address) => {
      const gone = new AbortController();
      const opening = EngineFile.open(address, '/export', {}, gone.signal);
      gone.abort(new Error('gone'));
      await expect(opening).rejects.toThrow();
    },
  );
});

test('the engine is not asked for a client that has disconnected before', async () => {
  let asked = 0;
  await asking(
    async (response) => {
      asked += 1;
      response.writeHead(200);
      await send(response, parts);
    },
    async (address) => {
      await expect(EngineFile.open(address, '/export', {}, AbortSignal.abort(new Error('gone')))).rejects.toThrow(
        'gone',
      );
      for (let turn = 0; turn < 10; turn += 1) await immediate();
    },
  );
  expect(asked).toBe(0);
});

test('an invalid chunk is an error, not the end', async () => {
  const server = createTcpServer((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfile\r\n?\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { file } = await EngineFile.open(
      { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: 'secret' },
      '/export',
      {},
      never,
    );
    await expect(pipeline(file, new SlowCopy())).rejects.toThrow('invalid chunk');
  } finally {
    server.close();
  }
});
