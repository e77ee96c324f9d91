/** The faults of simulated histories. */
import type { Random } from '../support/random.ts';
import type { Fate } from './brokers.ts';
import { clock } from './clock.ts';
import { foreignPatch } from './clients.ts';
import { ConsumerGroup } from './consumer-group.ts';
import { partitions } from './partitions.ts';
import { asOperator } from './operator.ts';
import { Place } from './place.ts';
import { apart, nothingIsLost, partitionOfClients, quietFor, together, type SimulatedFault } from './fault.ts';
import { losses } from './losses.ts';
import { operations } from './operations.ts';

/** For a while, all or some sends have this fate. Meanwhile a process may be paused. */
function sending(name: string, fateOf: (random: Random) => Fate): SimulatedFault {
  return {
    name,
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async ({ world, places, random }) => {
      const { brokers } = world.kafka!;
      const probability = random.pick([0.2, 0.5, 1]);
      const fate = (): Fate => (random.chance(probability) ? fateOf(random) : 'taken');
      brokers.fates.add(fate);
      if (random.chance(0.5)) random.pick(places).pause(random.between(500, 3000));
      await clock.sleep(random.between(200, 3000));
      brokers.fates.delete(fate);
    },
  };
}

const minute = 60_000;

/** A write of another version of the service is visible within this time, in milliseconds. */
const seenWithin = 600;

/**
 * Errors that Kafka may answer although the leader wrote the records
 * (https://kafka.apache.org/protocol#protocol_error_codes).
 */
export const falseRefusals: readonly string[] = [
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
];

/** Faults of processes, of Postgres, or of the lines between them, with either log. */
const disturbances: readonly (readonly [name: string, strike: SimulatedFault['strike']])[] = [
  [
    'a process is killed',
    async ({ places, random }) => {
      random.pick(places).kill();
      await clock.sleep(random.between(0, 2000));
    },
  ],
  [
    'all processes are killed',
    async ({ places, random }) => {
      for (const place of places) place.kill();
      await clock.sleep(random.between(0, 2000));
    },
  ],
  [
    'a process is paused',
    async ({ places, random }) => {
      const ms = random.between(100, 20_000);
      random.pick(places).pause(ms);
      await clock.sleep(ms);
    },
  ],
  [
    'lines to Postgres are cut',
    async ({ places, random }) => {
      for (let count = random.below(5); count >= 0; count -= 1) {
        random.pick(places).cut();
        await clock.sleep(random.between(0, 300));
      }
    },
  ],
  [
    'Postgres is restarted',
    async ({ world: { postgres }, random }) => {
      postgres.away = true;
      postgres.restart();
      await clock.sleep(random.between(10, 4000));
      postgres.away = false;
    },
  ],
];

const onBothLogs = disturbances.flatMap(([name, strike]): SimulatedFault[] => [
  { name, log: 'kafka', places: apart, strike, judge: nothingIsLost, overlaps: 'any' },
  { name, log: 'postgres', places: together, strike, judge: nothingIsLost, overlaps: 'any' },
]);

const disturbing: readonly SimulatedFault[] = [
  ...onBothLogs,
  sending('sends are lost', () => 'lost'),
  sending('sends are not answered', () => 'unanswered'),
  sending('sends are refused after they were written', (random) => ({ written: random.pick(falseRefusals) })),
  sending('sends come late', () => 'late'),
  {
    name: 'other brokers lead',
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async ({ world, random }) => {
      for (let count = random.below(4); count >= 0; count -= 1) {
        world.kafka!.brokers.elect(random.below(partitions));
        await clock.sleep(random.between(0, 500));
      }
    },
  },
  {
    name: 'a deposed leader reports its old end',
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async (deployment) => {
      const { world, places, random } = deployment;
      const { brokers } = world.kafka!;
      brokers.depose(partitionOfClients(deployment));
      await clock.sleep(random.between(50, 5000));
      // A new process reads the log.
      if (random.chance(0.5)) random.pick(places).kill();
      else brokers.restart();
      await clock.sleep(random.between(50, 5000));
      brokers.tellDeposed();
    },
  },
  {
    name: 'two groups of projectors',
    log: 'kafka',
    judge: nothingIsLost,
    overlaps: 'as first',
    places: (world) => [
      new Place(world, 'api'),
      new Place(world, 'projector'),
      new Place(world, 'projector', { group: new ConsumerGroup(world.random, partitions) }),
    ],
    strike: ({ random }) => clock.sleep(random.between(2000, 12_000)),
  },
];

const misleading: readonly SimulatedFault[] = [
  {
    name: 'the clocks of the brokers are wrong for a while',
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async ({ world, random }) => {
      const { brokers } = world.kafka!;
      brokers.skew = random.between(-10, 10) * minute;
      await clock.sleep(random.between(500, 20_000));
      brokers.skew = 0;
    },
  },
  ...(['kafka', 'postgres'] as const).map((log): SimulatedFault => ({
    name: 'the clock of Postgres is wrong for a while',
    log,
    places: log === 'kafka' ? apart : together,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async ({ world: { postgres }, random }) => {
      postgres.skew = random.between(-10, 10) * minute;
      await clock.sleep(random.between(500, 20_000));
      postgres.skew = 0;
    },
  })),
  ...(['kafka', 'postgres'] as const).map((log): SimulatedFault => ({
    name: 'the clock of a process is wrong for a while',
    log,
    places: log === 'kafka' ? apart : together,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async ({ places, random }) => {
      const place = random.pick(places);
      place.setClock(random.between(-10, 10) * minute);
      await clock.sleep(random.between(500, 20_000));
      place.setClock(0);
    },
  })),
  {
    name: 'another version writes',
    log: 'postgres',
    places: together,
    judge: nothingIsLost,
    overlaps: 'none',
    strike: async (deployment) => {
      const { world, places, table, load, random, problems } = deployment;
      const goOn = load.silence();
      await clock.sleep(quietFor);
      const row = random.pick(table.rows);
      const value = 'of another version';
      await table.recorder.record('another version', async () => {
        await asOperator(world, (log) =>
          log.appendRecord(partitionOfClients(deployment), foreignPatch(table, row, value)),
        );
        return { kind: 'patch', row: row.id, value, ifMatch: null, outcome: { status: 'unknown' } };
      });
      await clock.sleep(seenWithin);
      for (const place of places) {
        const seen = await place.serving?.queries.tables.rows.row(table.teamId, table.tableId, row.address);
        if (typeof seen === 'object' && !seen.json.includes(value))
          problems.push('a read does not show what another version wrote');
      }
      goOn();
    },
  },
  {
    name: 'a record is not an event',
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    isFinal: true,
    overlaps: 'none',
    strike: async (deployment) => {
      const {
        world: { kafka, postgres },
        problems,
      } = deployment;
      const partition = partitionOfClients(deployment);
      const { offset } = kafka!.brokers.append(partition, [Buffer.from('no event')]);
      await clock.sleep(quietFor);
      const { next, halted } = postgres.rowsOf('progress').get(String(partition))!;
      if (next !== BigInt(offset) || halted === null)
        problems.push(`the partition is at ${String(next)}, not halted at ${offset}`);
    },
  },
];

export const faults: readonly SimulatedFault[] = [...disturbing, ...misleading, ...losses, ...operations];
