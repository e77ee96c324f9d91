/** If a client goes away in the middle of a large body, nobody sees any of the body. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deploy, type FaultDeployment } from './deployment.ts';
import { recordedColumns } from './recorded-table.ts';

let deployment: FaultDeployment;

beforeAll(async () => {
  deployment = await deploy(1);
});

afterAll(async () => {
  await deployment.stop();
});

const body = Buffer.from(
  JSON.stringify(Array.from({ length: 3000 }, (_, n) => ({ value: `v${n}`, padding: 'x'.repeat(1000) }))),
);

/** Sends a part of the body, waits until it has left, and breaks the connection. */
async function sendPart(path: string, framing: 'length' | 'chunked', bytes: number): Promise<void> {
  const { url, token } = deployment.clients[0]!;
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const length = framing === 'length' ? `content-length: ${body.length}` : 'transfer-encoding: chunked';
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\n${length}\r\n\r\n`,
  );
  const part = body.subarray(0, bytes);
  const frame = framing === 'length' ? [part] : [`${(bytes + 10).toString(16)}\r\n`, part];
  for (const piece of frame) if (!socket.write(piece)) await once(socket, 'drain');
  socket.destroy();
}

test.each(['length', 'chunked'] as const)('rows of a body cut short are not added (%s)', async (framing) => {
  const client = deployment.clients[0]!;
  const made = await client.post('/tables', {
    name: 'cut',
    schema: { columns: recordedColumns },
    rows: [{ value: 'first' }],
  });
  const path = `/tables/${made.json.data.tableID}/rows`;
  const tablesBefore = (await client.get('/tables')).text;
  for (const bytes of [100, 400_000, 1_500_000, body.length - 1]) {
    await sendPart(path, framing, bytes);
    await sendPart('/tables?name=never', framing, bytes);
  }
  const head = await client.head(path);
  expect(head.version).toBe(made.version);
  // This row comes after everything that was sent of the others.
  expect((await client.post(path, [{ value: 'second' }])).status).toBe(201);
  expect((await client.rows(made.json.data.tableID)).map(({ value }) => value)).toEqual(['first', 'second']);
  expect((await client.get('/tables')).text).toBe(tablesBefore);
});

test('a body that is malformed at its very end adds nothing', async () => {
  const client = deployment.clients[0]!;
  const made = await client.post('/tables', { name: 'malformed', schema: { columns: recordedColumns }, rows: [] });
  const path = `/tables/${made.json.data.tableID}/rows`;
  const answer = await client.post(path, `${body.subarray(0, -1).toString()}, ]`);
  expect([answer.status, answer.json.error.type]).toEqual([400, 'request_validation_error']);
  expect(await client.rows(made.json.data.tableID)).toEqual([]);
  expect((await client.head(path)).version).toBe(made.version);
});
