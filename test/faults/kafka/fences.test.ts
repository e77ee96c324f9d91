/**
 * Processes that prove the log before they append share their fences: the owner of a partition is not fenced off once
 * for each of them.
 */
import { expect, test } from '@jest/globals';
import { partitionCount } from '../../../src/log/partition.ts';
import { freePort, sleepUntil } from '../../support/server.ts';
import { CutLine } from '../cut-line.ts';
import { ManyTeams } from '../many-teams.ts';
import { countFences } from './counted-fences.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

test('processes that start together fence a partition off once, and rarely more often after broken connections', async () => {
  const port = await freePort();
  await using resources = new AsyncDisposableStack();
  const line = await CutLine.open(port);
  resources.defer(() => line.close());
  const apis = ['api', 'api', 'api', 'api'] as const;
  const deployment = await KafkaDeployment.start({
    roles: ['projector', ...apis],
    ports: { port, advertised: line.port },
  });
  resources.defer(async () => {
    await deployment.stop();
  });
  const fences = await countFences(deployment.environment['DATABASE_URL']!);
  resources.defer(() => fences.close());

  const teams = await ManyTeams.start(
    deployment.of('api').map(({ server }) => server.url),
    deployment.environment,
  );
  resources.defer(() => teams.stop());
  const writeMore = async (): Promise<void> => {
    const enough = teams.acknowledged + 20 * partitionCount;
    await sleepUntil(async () => teams.acknowledged > enough, 'every team writes at each process');
  };
  await writeMore();
  const first = await fences.count();
  // Not one fence per process. A process that is slow to answer may add some, and so does the command line, which also
  // appends. A takeover by the projector serves as a fence.
  expect(first).toBeLessThan(2 * partitionCount);

  line.cut(0);
  await writeMore();
  // The owner may be about to store lost records.
  expect(await fences.count()).toBeGreaterThan(first);
  expect(await teams.findProblems()).toEqual([]);
});
