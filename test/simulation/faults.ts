/** The faults of simulated histories. Each has its deployment, the fault itself, and the checker that judges the history. */
import type { Random } from '../support/random.ts';
import { partitionOf } from '../../src/log/partition.ts';
import { findAmbiguities } from './ambiguities.ts';
import { sessionTimeout } from '../../src/log/kafka/group-membership.ts';
import { findProblems, type History } from '../support/history.ts';
import type { Fate } from './brokers.ts';
import { clock } from './clock.ts';
import { patchOf, type SharedTable } from './clients.ts';
import { ConsumerGroup } from './consumer-group.ts';
import { partitions } from './partitions.ts';
import type { PostgresServer } from './postgres.ts';
import { asOperator, replay, resumeLog } from './operator.ts';
import { Place, type Role } from './place.ts';
import type { World } from './world.ts';

export interface Deployment {
  readonly world: World;
  readonly places: readonly Place[];
  readonly random: Random;
  readonly table: SharedTable;
  readonly problems: string[];
}

export interface Fault {
  readonly name: string;
  readonly log: 'kafka' | 'postgres';
  readonly places: (world: World) => readonly Place[];
  readonly strike: (deployment: Deployment) => Promise<void>;
  /** Whether nobody can write afterwards. */
  readonly isFinal?: true;
  /** What is wrong in the history. */
  readonly judge: (deployment: Deployment, history: History) => readonly string[];
}

const nothingIsLost: Fault['judge'] = (_, history) => findProblems(history);

/** Acknowledged writes may be gone, but no version and no row ID means two things. */
const nothingMeansTwoThings: Fault['judge'] = (_, { calls }) => findAmbiguities(calls);

function placesOf(...roles: readonly Role[]): Fault['places'] {
  return (world) => roles.map((role) => new Place(world, role));
}

const together = placesOf('all', 'all');
const apart: Fault['places'] = (world) => (world.random.chance(0.5) ? together(world) : placesOf('api', 'api', 'projector', 'projector')(world));

/** Sends have this fate for a while, all of them or some. Meanwhile a process may stand still. */
function sending(name: string, fateOf: (random: Random) => Fate): Fault {
  return {
    name, log: 'kafka', places: apart, judge: nothingIsLost,
    strike: async ({ world, places, random }) => {
      const { brokers } = world.kafka!;
      const probability = random.pick([0.2, 0.5, 1]);
      brokers.fateOf = () => (random.chance(probability) ? fateOf(random) : 'taken');
      if (random.chance(0.5)) random.pick(places).pause(random.between(500, 3000));
      await clock.sleep(random.between(200, 3000));
      brokers.fateOf = () => 'taken';
    },
  };
}

const minute = 60_000;

/** Longer than a process takes to see how far the log goes, and a request to be answered, in milliseconds. */
const quietFor = 3000;

/** What another version of the service wrote is seen within this time, in milliseconds. */
const seenWithin = 600;

/** What Kafka answers although the leader wrote the records (https://kafka.apache.org/protocol#protocol_error_codes). */
export const falseRefusals: readonly string[] = [
  'UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION', 'REQUEST_TIMED_OUT', 'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
];

/** Things that happen to the processes, to Postgres or to the lines between them, whichever log there is. */
const disturbances: readonly (readonly [name: string, strike: Fault['strike']])[] = [
  ['a process is killed', async ({ places, random }) => {
    random.pick(places).kill();
    await clock.sleep(random.between(0, 2000));
  }],
  ['all processes are killed', async ({ places, random }) => {
    for (const place of places) place.kill();
    await clock.sleep(random.between(0, 2000));
  }],
  ['a process stands still', async ({ places, random }) => {
    const ms = random.between(100, 20_000);
    random.pick(places).pause(ms);
    await clock.sleep(ms);
  }],
  ['lines to Postgres are cut', async ({ places, random }) => {
    for (let count = random.below(5); count >= 0; count -= 1) {
      random.pick(places).cut();
      await clock.sleep(random.between(0, 300));
    }
  }],
  ['Postgres is restarted', async ({ world: { postgres }, random }) => {
    postgres.away = true;
    postgres.restart();
    await clock.sleep(random.between(10, 4000));
    postgres.away = false;
  }],
];

const onBothLogs = disturbances.flatMap(([name, strike]): Fault[] => [
  { name, log: 'kafka', places: apart, strike, judge: nothingIsLost },
  { name, log: 'postgres', places: together, strike, judge: nothingIsLost },
]);

const disturbing: readonly Fault[] = [
  ...onBothLogs,
  sending('sends are lost', () => 'lost'),
  sending('sends are not answered', () => 'unanswered'),
  sending('sends are refused after they were written', (random) => ({ written: random.pick(falseRefusals) })),
  sending('sends come late', () => 'late'),
  {
    name: 'other brokers lead', log: 'kafka', places: apart, judge: nothingIsLost,
    strike: async ({ world, random }) => {
      for (let count = random.below(4); count >= 0; count -= 1) {
        world.kafka!.brokers.elect(random.below(partitions));
        await clock.sleep(random.between(0, 500));
      }
    },
  },
  {
    name: 'a leader that was deposed tells the end that it knows', log: 'kafka', places: apart, judge: nothingIsLost,
    strike: async (deployment) => {
      const { world, places, random } = deployment;
      const { brokers } = world.kafka!;
      brokers.depose(partitionOfClients(deployment));
      await clock.sleep(random.between(50, 5000));
      // Somebody looks at the log anew.
      if (random.chance(0.5)) random.pick(places).kill();
      else brokers.restart();
      await clock.sleep(random.between(50, 5000));
      brokers.tellDeposed();
    },
  },
  {
    name: 'two groups of projectors', log: 'kafka', judge: nothingIsLost,
    places: (world) => [new Place(world, 'api'), new Place(world, 'projector'), new Place(world, 'projector', new ConsumerGroup(world.random, partitions))],
    strike: ({ random }) => clock.sleep(random.between(2000, 12_000)),
  },
];

const misleading: readonly Fault[] = [
  {
    name: 'the clocks of the brokers are wrong for a while', log: 'kafka', places: apart, judge: nothingIsLost,
    strike: async ({ world, random }) => {
      const { brokers } = world.kafka!;
      brokers.skew = random.between(-10, 10) * minute;
      await clock.sleep(random.between(500, 20_000));
      brokers.skew = 0;
    },
  },
  ...(['kafka', 'postgres'] as const).map((log): Fault => ({
    name: 'the clock of Postgres is wrong for a while', log, places: log === 'kafka' ? apart : together, judge: nothingIsLost,
    strike: async ({ world: { postgres }, random }) => {
      postgres.skew = random.between(-10, 10) * minute;
      await clock.sleep(random.between(500, 20_000));
      postgres.skew = 0;
    },
  })),
  {
    name: 'another version writes', log: 'postgres', places: together, judge: nothingIsLost,
    strike: async (deployment) => {
      const { world, places, table, random, problems } = deployment;
      table.isQuiet = true;
      await clock.sleep(quietFor);
      const row = random.pick(table.rows);
      const value = 'of another version';
      await table.recorder.record('another version', async () => {
        await asOperator(world, (log) => log.appendRecord(partitionOfClients(deployment), patchOf(table, row, value)));
        return { kind: 'patch', row: row.id, value, ifMatch: null, outcome: { status: 'unknown' } };
      });
      await clock.sleep(seenWithin);
      for (const place of places) {
        const seen = await place.serving?.queries.tables.rows.row(table.teamId, table.tableId, row.address);
        if (typeof seen === 'object' && !seen.json.includes(value)) problems.push('a read does not show what another version wrote');
      }
      table.isQuiet = false;
    },
  },
  {
    name: 'a record is no event', log: 'kafka', places: apart, judge: nothingIsLost, isFinal: true,
    strike: async (deployment) => {
      const { world: { kafka, postgres }, problems } = deployment;
      const partition = partitionOfClients(deployment);
      const { offset } = kafka!.brokers.append(partition, [Buffer.from('no event')]);
      await clock.sleep(quietFor);
      const { next, halted } = postgres.tables.get('progress')!.get(String(partition))!;
      if (next !== BigInt(offset) || halted === null) problems.push(`the partition is at ${String(next)}, not halted at ${offset}`);
    },
  },
];

/** The partition of the team that all clients write for. */
function partitionOfClients({ table }: Deployment): number {
  return partitionOf(table.teamId, partitions);
}

/** Waits until the partition is noted as one whose log lacks records. Returns whether it is, after a while. */
async function isHalted({ world: { postgres } }: Deployment, partition: number): Promise<boolean> {
  for (let count = 0; count < 50; count += 1) {
    if (postgres.tables.get('progress')!.get(String(partition))!['contradicted'] === true) return true;
    await clock.sleep(200);
  }
  return false;
}

const losing: readonly Fault[] = [
  {
    name: 'brokers lose the end of the log, and get it back', log: 'kafka', places: apart, judge: nothingIsLost,
    strike: async (deployment) => {
      const { world, random } = deployment;
      const { brokers } = world.kafka!;
      const partition = partitionOfClients(deployment);
      const whole = brokers.loseTail(partition, 1 + random.below(4));
      if (random.chance(0.5)) brokers.elect(partition);
      // Where nothing was lost that had been projected, the log goes on.
      if (!(await isHalted(deployment, partition))) return;
      brokers.restore(partition, whole);
      // An operator takes a while.
      await clock.sleep(random.between(2000, 5000));
      await resumeLog(world);
    },
  },
  {
    name: 'a broker without the end of the log leads, and the former leader does not know', log: 'kafka', places: apart, judge: nothingIsLost,
    strike: async (deployment) => {
      const { world: { kafka, postgres }, random, table, problems } = deployment;
      const { brokers } = kafka!;
      const partition = partitionOfClients(deployment);
      table.isQuiet = true;
      await clock.sleep(quietFor);
      const whole = brokers.depose(partition, 1 + random.below(4));
      brokers.onAppend = (to, offset) => {
        const { next } = postgres.tables.get('progress')!.get(String(to))!;
        if (BigInt(offset) < (next as bigint)) problems.push(`an event was appended at offset ${offset}, and the partition was projected up to ${String(next)}`);
      };
      table.isQuiet = false;
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
    name: 'brokers lose the end of the log for good, and it is replayed', log: 'kafka', places: apart, judge: nothingMeansTwoThings,
    strike: async (deployment) => {
      const { world, places, random, table } = deployment;
      const partition = partitionOfClients(deployment);
      world.kafka!.brokers.loseTail(partition, 1 + random.below(4));
      if (!(await isHalted(deployment, partition))) return;
      for (const place of places) place.stop();
      await clock.sleep(random.between(4000, 10_000));
      table.isQuiet = true;
      await replay(world, places);
      table.isQuiet = false;
    },
  },
  {
    name: 'Postgres goes on without a takeover, and the owner comes back when all is as it left it', log: 'kafka', judge: nothingIsLost,
    places: placesOf('api', 'projector'),
    strike: async ({ world, places: [, projector], random, table, problems }) => {
      const { postgres } = world;
      const epochs = (): unknown[] => [...postgres.tables.get('progress')!.values()].map(({ epoch }) => epoch);
      const { commits } = postgres;
      projector!.kill();
      // The process that follows it takes the partitions over once its session has ended.
      await clock.sleep(sessionTimeout + 500);
      table.isQuiet = true;
      await clock.sleep(quietFor);
      const lost = epochs();
      const pausedFor = random.between(10_000, 20_000);
      projector!.pause(pausedFor);
      postgres.loseCommits(commits);
      // Another projector brings the read model to where it was, so that nothing seems to be missing.
      const other = new Place(world, 'projector', new ConsumerGroup(world.random, partitions));
      await clock.sleep(pausedFor);
      if (other.log === null) problems.push('the other projector did not start');
      if (epochs().some((epoch) => lost.includes(epoch))) problems.push('two owners of a partition have one epoch');
      table.isQuiet = false;
      await clock.sleep(random.between(1000, 10_000));
    },
  },
  ...postgresLosses('Postgres goes on without its last commits, on a new timeline', nothingIsLost, (server) => {
    server.timeline += 1n;
  }),
  ...postgresLosses('Postgres goes on without its last commits, on the same timeline', nothingIsLost, () => undefined).map((fault) => ({
    ...fault,
    strike: async (deployment: Deployment) => {
      // Only what all processes have seen is certain to be missed.
      deployment.table.isQuiet = true;
      await clock.sleep(quietFor);
      await fault.strike(deployment);
      deployment.table.isQuiet = false;
    },
  })),
];

/** With the log in Postgres, acknowledged writes are gone. With the log in Kafka they are there, and are projected again. */
function postgresLosses(name: string, judgeOnKafka: Fault['judge'], change: (server: PostgresServer) => void): readonly Fault[] {
  const strike: Fault['strike'] = async ({ world: { postgres }, random }) => {
    const commits = postgres.commits - random.below(12);
    postgres.away = true;
    postgres.loseCommits(Math.max(commits, postgres.firstCommits));
    change(postgres);
    await clock.sleep(random.between(10, 3000));
    postgres.away = false;
  };
  return [
    { name, log: 'postgres', places: together, strike, judge: nothingMeansTwoThings },
    { name, log: 'kafka', places: apart, strike, judge: judgeOnKafka },
  ];
}

export const faults: readonly Fault[] = [...disturbing, ...misleading, ...losing];
