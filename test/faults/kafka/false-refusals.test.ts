/**
 * Brokers answer a send with an error although the records are in the log, as a leader can that is deposed meanwhile.
 */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { isFull } from '../../scale.ts';
import { outcomeOf, type Client } from '../../support/client.ts';
import { freePort, sleepUntil } from '../../support/server.ts';
import { KafkaDeployment } from './kafka-deployment.ts';
import { KafkaProxy } from './kafka-proxy.ts';

let proxy: KafkaProxy;
let deployment: KafkaDeployment;
let client: Client;

beforeAll(async () => {
  const port = await freePort();
  proxy = await KafkaProxy.open(port);
  deployment = await KafkaDeployment.start({ roles: ['api', 'projector'], ports: { port, advertised: proxy.port } });
  [client] = (await deployment.clients()) as [Client];
});

afterEach(() => {
  proxy.harm = () => ({});
  deployment.of('projector')[0]!.server.process.kill('SIGCONT');
});

afterAll(async () => {
  expect(await deployment.verify()).toMatchObject({ exitCode: 0 });
  expect(await deployment.stop()).toEqual([0, 0]);
  await proxy.close();
});

const codes: [number, string][] = [
  [3, 'UNKNOWN_TOPIC_OR_PARTITION'],
  [5, 'LEADER_NOT_AVAILABLE'],
  [6, 'NOT_LEADER_FOR_PARTITION'],
  [7, 'REQUEST_TIMED_OUT'],
  [19, 'NOT_ENOUGH_REPLICAS'],
  [20, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'],
];

test.each(isFull ? codes : codes.filter(([, name]) => name.startsWith('NOT_LEADER')))(
  '%d %s: the answer does not say that nothing was changed, and the rows are added once',
  async (code, name) => {
    const { json } = await client.post('/tables', { name, rows: [{ n: 0 }] });
    const path = `/tables/${json.data.tableID}/rows`;
    const [projector] = deployment.of('projector');
    // While no process projects, the API has only the brokers' answers.
    projector!.server.process.kill('SIGSTOP');
    const before = proxy.sends.falsified;
    proxy.harm = () => ({ answer: code });
    const answer = client.post(path, [{ n: 1 }, { n: 2 }]);
    await sleepUntil(() => proxy.sends.falsified > before + 12, 'the error was answered for more than a second');
    proxy.harm = () => ({});
    projector!.server.process.kill('SIGCONT');
    expect(outcomeOf(await answer)).toBe('201');
    expect((await client.rows(json.data.tableID)).map(({ n }) => n)).toEqual([0, 1, 2]);
  },
);
