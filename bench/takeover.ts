/**
 * Measures how long writes wait when their projector ends, with one API, two projectors, and a client that sends one
 * PATCH after the other.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sessionTimeout } from '../src/log/kafka/group-membership.ts';
import { partitionCount, partitionOf } from '../src/log/partition.ts';
import { parseMetrics } from '../test/support/metrics.ts';
import { Connection } from './connection.ts';
import { makeRow, seededRandom } from './data.ts';
import { runScript, type Ending, type Server } from './processes.ts';
import { createTable, expectStatus, head, withBody, type Target } from './requests.ts';
import { startService, startServiceProcess, tablog, type ServiceSettings } from './service-processes.ts';

/** How long it takes until Kafka notices a killed projector. */
export const sessionTimeoutSeconds = sessionTimeout / 1_000;

export const endings: readonly Ending[] = ['SIGKILL', 'SIGTERM'];

/** The durations of one takeover, in seconds. */
export interface Takeover {
  ending: Ending;
  /** The longest wait of a write for its 200: from its sending, or from the signal if it was sent earlier. */
  wait: number;
  /** From the signal to the end of that wait. */
  sinceSignal: number;
}

interface TakeoverOptions {
  /** How often a projector is ended in each way. */
  times: number;
  settings: ServiceSettings;
}

/** A write that was answered with 200. Times are those of `performance.now()`. */
interface Write {
  sentAt: number;
  acknowledgedAt: number;
}

type Writer = () => Promise<Write>;

/** How long writes run before a projector is ended. */
const leadInMs = 1_000;
const retryMs = 10;
const pollMs = 100;
const giveUpAfterMs = 60_000;

export async function measureTakeovers({ times, settings }: TakeoverOptions, signal: AbortSignal): Promise<Takeover[]> {
  await using resources = new AsyncDisposableStack();
  const { processes, target } = await startService(settings, ['projector', 'projector', 'api'], resources, signal);
  let projectors = processes.slice(0, 2);
  const partition = await findPartition(settings, signal);
  const connection = await Connection.open(target.ports[0]!);
  resources.defer(() => connection.close());
  const write = await makeWriter(connection, target);

  const takeovers: Takeover[] = [];
  for (let time = 0; time < times; time++) {
    for (const ending of endings) {
      const owner = await untilShared(projectors, partition, signal);
      const takeover = await measureTakeover(owner, ending, write, signal);
      console.error(`takeover after ${ending}: ${takeover.sinceSignal.toFixed(2)} s`);
      takeovers.push(takeover);
      const name = `projector-after-${takeovers.length}`;
      const next = await startServiceProcess(settings, 'projector', name, resources, signal);
      projectors = [...projectors.filter((projector) => projector !== owner), next];
    }
  }
  return takeovers;
}

/**
 * Ends the projector while writes run. Continues until a write is answered that this projector cannot have projected.
 */
async function measureTakeover(owner: Server, ending: Ending, write: Writer, signal: AbortSignal): Promise<Takeover> {
  const writes: Write[] = [];
  let endedAt = Infinity;
  const keepWriting = async (): Promise<void> => {
    do writes.push(await write());
    while (writes.at(-1)!.sentAt <= endedAt && !signal.aborted);
  };
  const endOwner = async (): Promise<number> => {
    await sleep(leadInMs, undefined, { signal });
    const signalledAt = performance.now();
    await owner.end(ending);
    endedAt = performance.now();
    return signalledAt;
  };
  const [signalledAt] = await Promise.all([endOwner(), keepWriting()]);
  signal.throwIfAborted();
  // A projector continues for a moment after SIGTERM, so the first answer after the signal may come from it.
  const afterSignal = writes.filter(({ acknowledgedAt }) => acknowledgedAt > signalledAt);
  const waits = afterSignal.map(({ sentAt, acknowledgedAt }) => {
    return { wait: acknowledgedAt - Math.max(sentAt, signalledAt), sinceSignal: acknowledgedAt - signalledAt };
  });
  const { wait, sinceSignal } = waits.reduce((longest, one) => (one.wait > longest.wait ? one : longest));
  return { ending, wait: wait / 1_000, sinceSignal: sinceSignal / 1_000 };
}

/** Creates a table of one row. Resolves to a function that patches the row, and resolves when the answer is 200. */
async function makeWriter(connection: Connection, target: Target): Promise<Writer> {
  const { path, rowIDs } = await createTable(connection, target, [makeRow(seededRandom(1))]);
  let writes = 0;
  return async () => {
    const requestHead = `${head(target, 'PATCH', `${path}/rows/${rowIDs[0]}`)}Idempotency-Key: ${randomUUID()}\r\n`;
    const request = withBody(requestHead, Buffer.from(`{"seats":${1_000_000 + writes++}}`));
    const sentAt = performance.now();
    for (;;) {
      const answer = await connection.send(request);
      if (answer.status !== 503 || performance.now() - sentAt > giveUpAfterMs) {
        expectStatus(200, answer);
        return { sentAt, acknowledgedAt: performance.now() };
      }
      await sleep(retryMs);
    }
  };
}

/** The partition of the only team. */
async function findPartition({ environment }: ServiceSettings, signal: AbortSignal): Promise<number> {
  const teams = await runScript([tablog, 'teams', 'list', '--json'], environment, signal);
  const [team] = JSON.parse(teams) as [{ id: string }];
  return partitionOf(team.id, partitionCount);
}

/**
 * Waits until every projector owns some partitions, and together they own all; resolves to the owner of this partition.
 */
async function untilShared(projectors: readonly Server[], partition: number, signal: AbortSignal): Promise<Server> {
  const giveUpAt = performance.now() + giveUpAfterMs;
  for (;;) {
    const owned = await Promise.all(projectors.map(ownedPartitions));
    const isShared = owned.flat().length === partitionCount && owned.every(({ length }) => length > 0);
    const owner = projectors.find((_, index) => owned[index]!.includes(partition));
    if (isShared && owner) return owner;
    if (performance.now() > giveUpAt) throw new Error('the projectors do not share the partitions');
    await sleep(pollMs, undefined, { signal });
  }
}

async function ownedPartitions({ port }: Server): Promise<number[]> {
  const metrics = parseMetrics(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  return metrics
    .filter(({ name, value }) => name === 'tablog_partition_owned' && value === 1)
    .map(({ labels }) => Number(labels['partition']));
}
