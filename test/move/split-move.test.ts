/** The log of processes that answer requests and others that project moves to Postgres and back. */
import { expect, test } from '@jest/globals';
import { request } from 'node:http';
import { Client } from '../support/client.ts';
import { freePort, sleepUntil, untilReady } from '../support/server.ts';
import { runTablog } from '../support/tablog.ts';
import { scale } from '../scale.ts';
import { limitMs } from '../support/time-limits.ts';
import { expectMoves } from './expect-moves.ts';
import { MovedService } from './moved-service.ts';

test(
  'all processes of a split service end when its log has moved, and those of the other kind go on',
  async () => {
    await using service = await MovedService.start(['api', 'api', 'projector', 'projector'], 'kafka');
    await expectMoves(service, scale.moveKills);
  },
  limitMs(1_800_000),
);

test('a process that was paused while the log moved changes nothing, however long it takes to end', async () => {
  await using service = await MovedService.start(['api', 'api', 'projector', 'projector'], 'kafka');
  const client = new Client(service.urls, await service.token());
  const created = await client.post('/tables', {
    name: 'kept',
    schema: { columns: [{ id: 'name', type: 'string' }] },
    rows: [{ name: 'a' }],
  });
  const path = `/tables/${created.json.data.tableID}/rows`;
  const paused = await service.launch('api', await freePort(), 'kafka');
  await untilReady(paused);
  // Its body never comes to an end, so the process waits for it as long as it may.
  const pending = request(`${paused.url}${path}`, {
    method: 'POST',
    headers: { 'authorization': `Bearer ${client.token}`, 'content-type': 'application/json' },
  });
  pending.on('error', () => undefined).write('[{"name": "b"}, ');
  paused.process.kill('SIGSTOP');
  await service.move({ kills: 0, random: Math.random });
  await service.serve();
  // Now the read model is further than the log in Kafka.
  for (let n = 0; n < 5; n += 1) expect((await client.post(path, [{ name: String(n) }])).status).toBe(201);
  paused.process.kill('SIGCONT');
  let writes = 0;
  await sleepUntil(async () => {
    expect((await client.post(path, [{ name: 'while it ends' }])).status).toBe(201);
    writes += 1;
    return paused.process.exitCode !== null;
  }, 'the paused process ends');
  expect([paused.process.exitCode, paused.output()]).toEqual([
    1,
    expect.stringContaining('the log is in Postgres: remove the settings'),
  ]);
  process.stderr.write(`${writes} writes were done while it ended\n`);
  pending.destroy();
  expect(await client.rows(created.json.data.tableID)).toHaveLength(6 + writes);
  await service.stop();
  expect(await runTablog(['log', 'status', '--json'], service.environment)).toMatchObject({ code: 0 });
});
