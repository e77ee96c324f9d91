/** Somebody without a token who asks for large files of the service again and again, and reads nothing. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { sleepUntil } from '../support/server.ts';
import { metric, Neighbour } from './neighbours.ts';

const { api } = useOwnApi();
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

test('holds one answer in each connection, and a neighbour notices nothing', async () => {
  const neighbour = await Neighbour.begin(await api().createTeam());
  const { hostname, port } = new URL(api().url);
  const before = await metric(api(), 'process_resident_memory_bytes');
  const connections = 20;
  for (let count = 0; count < connections; count += 1) {
    const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.pause();
    socket.write(`GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(100));
  }
  await sleepUntil(
    async () => (await metric(api(), 'tablog_http_requests_in_flight')) >= connections,
    'each connection has an unread answer',
  );
  // The service has answered others meanwhile.
  for (let looks = 0; looks < 20; looks += 1) {
    // Besides, there are the neighbour's request and this one.
    expect(await metric(api(), 'tablog_http_requests_in_flight')).toBeLessThanOrEqual(connections + 2);
  }
  expect((await metric(api(), 'process_resident_memory_bytes')) - before).toBeLessThan(200 * 1024 * 1024);
  expect(new Set(await neighbour.stop())).toEqual(new Set(['200']));
});
