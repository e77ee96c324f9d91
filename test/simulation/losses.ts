/** Faults that lose acknowledged records or commits. */
import { sessionTimeout } from '../../src/log/kafka/group-membership.ts';
import { clock } from './clock.ts';
import { ConsumerGroup } from './consumer-group.ts';
import { partitions } from './partitions.ts';
import type { PostgresServer } from './postgres.ts';
import { replay, resumeLog } from './operator.ts';
import { Place } from './place.ts';
import {
  apart,
  nothingIsLost,
  nothingMeansTwoThings,
  partitionOfClients,
  placesOf,
  quietFor,
  together,
  type SimulatedDeployment,
  type SimulatedFault,
} from './fault.ts';

/**
 * Waits until the partition is recorded as one whose log lacks records. Returns whether that happens within a while.
 */
async function isHalted({ world: { postgres } }: SimulatedDeployment, partition: number): Promise<boolean> {
  for (let count = 0; count < 50; count += 1) {
    if (postgres.rowsOf('progress').get(String(partition))!['contradicted'] === true) return true;
    await clock.sleep(200);
  }
  return false;
}

export const losses: readonly SimulatedFault[] = [
  {
    name: 'brokers lose the end of the log, and get it back',
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    overlaps: 'none',
    strike: async (deployment) => {
      const { world, random } = deployment;
      const { brokers } = world.kafka!;
      const partition = partitionOfClients(deployment);
      const whole = brokers.loseTail(partition, 1 + random.below(4));
      if (random.chance(0.5)) brokers.elect(partition);
      // If nothing was lost that had been projected, the log goes on.
      if (!(await isHalted(deployment, partition))) return;
      brokers.restore(partition, whole);
      // An operator needs some time.
      await clock.sleep(random.between(2000, 5000));
      await resumeLog(world);
    },
  },
  {
    name: 'a broker that lacks the end of the log leads, and the former leader does not know',
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    overlaps: 'none',
    strike: async (deployment) => {
      const {
        world: { kafka, postgres },
        random,
        load,
        problems,
      } = deployment;
      const { brokers } = kafka!;
      const partition = partitionOfClients(deployment);
      const goOn = load.silence();
      await clock.sleep(quietFor);
      const whole = brokers.depose(partition, 1 + random.below(4));
      brokers.onAppend = (to, offset) => {
        const { next } = postgres.rowsOf('progress').get(String(to))!;
        if (BigInt(offset) < (next as bigint))
          problems.push(
            `an event was appended at offset ${offset}, and the partition was projected up to ${String(next)}`,
          );
      };
      goOn();
      const halted = await isHalted(deployment, partition);
      brokers.tellDeposed();
      brokers.onAppend = () => undefined;
      if (!halted) return;
      brokers.restore(partition, whole);
      await clock.sleep(random.between(2000, 5000));
      await resumeLog(deployment.world);
    },
  },
  {
    name: 'brokers lose the end of the log for good, and it is replayed',
    log: 'kafka',
    places: apart,
    judge: nothingMeansTwoThings,
    overlaps: 'none',
    strike: async (deployment) => {
      const { world, places, random, load } = deployment;
      const partition = partitionOfClients(deployment);
      world.kafka!.brokers.loseTail(partition, 1 + random.below(4));
      if (!(await isHalted(deployment, partition))) return;
      for (const place of places) place.stop();
      await clock.sleep(random.between(4000, 10_000));
      const goOn = load.silence();
      await replay(world, places);
      goOn();
    },
  },
  {
    name: 'Postgres loses a takeover, and the former owner returns when everything looks unchanged',
    log: 'kafka',
    judge: nothingIsLost,
    overlaps: 'none',
    places: placesOf('api', 'projector'),
    strike: async ({ world, places: [, projector], random, load, problems }) => {
      const { postgres } = world;
      const epochs = (): unknown[] => [...postgres.rowsOf('progress').values()].map(({ epoch }) => epoch);
      const { commits } = postgres;
      projector!.kill();
      // The process that follows it takes the partitions over once the session has ended.
      await clock.sleep(sessionTimeout + 500);
      const goOn = load.silence();
      await clock.sleep(quietFor);
      const lost = epochs();
      const pausedFor = random.between(10_000, 20_000);
      projector!.pause(pausedFor);
      postgres.loseCommits(commits);
      // Another projector brings the read model to its former state, so that nothing seems to be missing.
      const other = new Place(world, 'projector', { group: new ConsumerGroup(world.random, partitions) });
      await clock.sleep(pausedFor);
      if (other.log === null) problems.push('the other projector did not start');
      if (epochs().some((epoch) => lost.includes(epoch))) problems.push('two owners of a partition have one epoch');
      goOn();
      await clock.sleep(random.between(1000, 10_000));
    },
  },
  ...postgresLosses('Postgres goes on without its last commits, on a new timeline', nothingIsLost, (server) => {
    server.timeline += 1n;
  }),
  ...postgresLosses(
    'Postgres goes on without its last commits, on the same timeline',
    nothingIsLost,
    () => undefined,
  ).map((fault) => ({
    ...fault,
    overlaps: 'none' as const,
    strike: async (deployment: SimulatedDeployment) => {
      // Only losses that all processes have seen are certain to be noticed.
      const goOn = deployment.load.silence();
      await clock.sleep(quietFor);
      await fault.strike(deployment);
      goOn();
    },
  })),
];

/**
 * With the log in Postgres, acknowledged writes are gone. With the log in Kafka they are still there, and are projected
 * again.
 */
function postgresLosses(
  name: string,
  judgeOnKafka: SimulatedFault['judge'],
  change: (server: PostgresServer) => void,
): readonly SimulatedFault[] {
  const strike: SimulatedFault['strike'] = async ({ world: { postgres }, random }) => {
    const commits = postgres.commits - random.below(12);
    postgres.away = true;
    postgres.loseCommits(Math.max(commits, postgres.firstCommits));
    change(postgres);
    await clock.sleep(random.between(10, 3000));
    postgres.away = false;
  };
  return [
    { name, log: 'postgres', places: together, strike, judge: nothingMeansTwoThings, overlaps: 'as first' },
    { name, log: 'kafka', places: apart, strike, judge: judgeOnKafka, overlaps: 'as first' },
  ];
}
