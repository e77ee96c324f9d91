/** How the service asks a query process (src/api/query/ask-process.ts). */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { EngineGone, EngineReplaced, post } from '../../../../src/api/query/ask-process.ts';

const never = new AbortController().signal;
const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok';

let server: Server;
let sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  if (server.listening)
    await new Promise((resolve) => {
      server.close(resolve);
    });
});

/**
 * A process that answers the first request of each connection, and closes the connection when the second one comes, as
 * if the two had crossed. `onReset`: called then.
 */
async function closing(onReset: () => void = () => undefined): Promise<() => Promise<string>> {
  sockets = [];
  server = createServer((socket) => {
    let requests = 0;
    sockets.push(socket.on('error', () => undefined));
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) {
        socket.write(answer);
        return;
      }
      onReset();
      socket.resetAndDestroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => text((await post({ url, secret: 'secret' }, '/sql', {}, never)).response);
}

test('a request is sent again if it crosses the end of an idle connection', async () => {
  const ask = await closing();
  expect([await ask(), await ask(), await ask()]).toEqual(['ok', 'ok', 'ok']);
  expect(sockets).toHaveLength(3);
});

test('a request whose process ends meanwhile is not answered', async () => {
  const ask = await closing(() => server.close());
  expect(await ask()).toBe('ok');
  await expect(ask()).rejects.toThrow(EngineReplaced);
});

test('a request whose new connection breaks is not sent again', async () => {
  let connections = 0;
  server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await expect(
    post({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: 'secret' }, '/sql', {}, never),
  ).rejects.toThrow(EngineGone);
  expect(connections).toBe(1);
});
