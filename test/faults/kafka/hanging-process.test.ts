/**
 * An API process whose sends to Kafka hang for ever reports it, and ends: by itself, and on SIGTERM. Another API
 * process goes on.
 */
import { expect, test } from '@jest/globals';
import { Client } from '../../support/client.ts';
import type { TestServer } from '../../support/server.ts';
import { exitCodeOf, expectStandstill, hang, hangs } from '../hanging.ts';
import { useDeployment } from './use-deployment.ts';

const deployment = useDeployment({
  roles: ['projector', 'api', 'api', 'api'],
  nodeArgs: hangs,
  environment: { DRAIN_TIMEOUT_MS: '500', STANDSTILL_MAX_MS: '15000' },
});

test('a process with a hanging append is not ready, names the partition, and exits with code 1, sooner after SIGTERM; others go on', async () => {
  const [alone, told, well] = deployment()
    .of('api')
    .map(({ server }) => server) as [TestServer, TestServer, TestServer];
  const [first] = await deployment().clients();
  const { token } = first!;
  await Promise.all([alone, told].map((server) => hang(server, new Client(server.url, token))));
  const ended = exitCodeOf(alone);
  told.process.kill('SIGTERM');
  await expectStandstill(alone, 'the brokers, the log ends at offset \\d+');
  expect((await new Client(well.url, token).post('/tables', { name: 'goes on', rows: [] })).status).toBe(201);
  expect(await ended).toBe(1);
  expect(alone.output()).toContain('This process hangs. It ends now, so that it is restarted.');
  expect(await exitCodeOf(told)).toBe(1);
  expect(told.output()).toContain('gives up closing its sends to Kafka');
});
