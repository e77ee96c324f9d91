/**
 * `npm run bench:fences`: the response times of writes of twelve teams, one in each partition of a log in Kafka, while
 * seven API processes join the first one, and while all connections to Kafka break. It also counts how often partitions
 * are fenced off. See README.md.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { partitionCount, partitionOf } from '../src/log/partition.ts';
import { countFences } from '../test/faults/kafka/counted-fences.ts';
import { KafkaDeployment } from '../test/faults/kafka/kafka-deployment.ts';
import { CutLine } from '../test/faults/cut-line.ts';
import { Client } from '../test/support/client.ts';
import { freePort, untilReady } from '../test/support/server.ts';
import { outputOf } from '../test/support/tablog.ts';
import { quantile } from './neighbour-teams.ts';
import { renderTable } from './report.ts';

/** How long each team writes to all processes after they have joined, and after each break, in milliseconds. */
const spellMs = 5000;
const breaks = 5;
/** The pause between two writes of a team at a process, in milliseconds. */
const betweenWrites = 50;

interface Team {
  readonly token: string;
  readonly row: string;
}

/**
 * Writes to these processes until it is stopped. Durations are in milliseconds; `failed` counts answers other than 200.
 */
class Writers {
  readonly #durations: number[] = [];
  readonly #writing: Promise<void>[] = [];
  #failed = 0;
  #isStopped = false;

  add(teams: readonly Team[], url: string): void {
    this.#writing.push(...teams.map((team) => this.#write(new Client(url, team.token), team.row)));
  }

  take(): { readonly durations: readonly number[]; readonly failed: number } {
    const taken = { durations: this.#durations.splice(0), failed: this.#failed };
    this.#failed = 0;
    return taken;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#writing);
  }

  async #write(client: Client, row: string): Promise<void> {
    for (let n = 0; !this.#isStopped; n += 1) {
      const began = performance.now();
      const status = await client.patch(row, { n }).then(
        (answer) => answer.status,
        () => 0,
      );
      this.#durations.push(performance.now() - began);
      if (status !== 200) this.#failed += 1;
      await sleep(betweenWrites);
    }
  }
}

async function createTeams(url: string, environment: Readonly<Record<string, string>>): Promise<Team[]> {
  const operator = new Client(url, await outputOf(['tokens', 'create', '--operator', '--name', 'bench'], environment));
  const byPartition = new Map<number, string>();
  while (byPartition.size < partitionCount) {
    const { json } = await operator.post('/admin/teams', { name: 'team' });
    byPartition.set(partitionOf(json.data.id, partitionCount), json.data.id);
  }
  return Promise.all(
    Array.from(byPartition.values(), async (id) => {
      const {
        json: {
          data: { token },
        },
      } = await operator.post(`/admin/teams/${id}/tokens`, { name: 'writer' });
      const {
        json: {
          data: { tableID, rowIDs },
        },
      } = await new Client(url, token).post('/tables', { name: 'counts', rows: [{ n: 0 }] });
      return { token, row: `/tables/${tableID}/rows/${rowIDs[0]}` };
    }),
  );
}

async function main(): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const port = await freePort();
  const line = await CutLine.open(port);
  resources.defer(() => line.close());
  const deployment = await KafkaDeployment.start({
    roles: ['projector', 'projector', ...Array.from({ length: 8 }, () => 'api' as const)],
    ports: { port, advertised: line.port },
  });
  resources.defer(async () => {
    await deployment.stop();
  });
  const [first, ...joining] = deployment.of('api');
  const fences = await countFences(deployment.environment['DATABASE_URL']!);
  resources.defer(() => fences.close());
  const teams = await createTeams(first!.server.url, deployment.environment);
  await deployment.kill(joining);
  const writers = new Writers();
  resources.defer(() => writers.stop());
  writers.add(teams, first!.server.url);

  const rows: string[][] = [];
  let fencedBefore = await fences.count();
  const measure = async (what: string, work: () => Promise<void>): Promise<void> => {
    writers.take();
    await work();
    const { durations, failed } = writers.take();
    const fenced = await fences.count();
    const times = [quantile(durations, 0.5), quantile(durations, 0.99), quantile(durations, 1)].map((ms) =>
      ms.toFixed(0),
    );
    rows.push([what, String(durations.length), String(failed), ...times, String(fenced - fencedBefore)]);
    fencedBefore = fenced;
  };
  await measure('one process', () => sleep(spellMs));
  await measure('seven join', async () => {
    await deployment.restart(joining);
    await Promise.all(
      joining.map(async ({ server }) => {
        await untilReady(server);
        writers.add(teams, server.url);
      }),
    );
    await sleep(spellMs);
  });
  await measure('eight processes', () => sleep(spellMs));
  await measure(`${breaks} breaks`, async () => {
    for (let n = 0; n < breaks; n += 1) {
      line.cut(0);
      await sleep(spellMs);
    }
  });
  process.stdout.write(
    `${renderTable([['while', 'writes', 'failed', 'p50 ms', 'p99 ms', 'longest ms', 'fences'], ...rows])}\n`,
  );
}

await main();
