/**
 * Bugs that are planted into a simulation (`--plant NAME`), each with the faults that show it. The simulation must find
 * every one, or it would be worth nothing. A silent reset of an offset is found only with real processes
 * (test/faults/kafka/plants.ts): here the proof of the last record prevents it.
 */
import { Batch } from '../../src/log/batch/batch.ts';
import { KafkaLog } from '../../src/log/kafka/kafka-log.ts';
import { ProgressNotifier } from '../../src/log/kafka/progress-notifications.ts';
import { PostgresLog } from '../../src/log/postgres/postgres-log.ts';
import { KeysState } from '../../projections/tables/keys/keys.state.ts';
import { readModelSchema } from '../../projections/models.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { HistoryGuard } from '../../src/storage/database/history.ts';
import { NotAppended } from '../../src/log/event-log.ts';
import { KafkaConnection } from '../../src/log/kafka/kafka-connection.ts';
import { KafkaReader } from '../../src/log/kafka/kafka-reader.ts';
import { Rebuild } from '../../src/operations/replay/rebuild.ts';
import { rebuildName } from '../../src/operations/replay/replay-progress.ts';
import { servicePlants } from '../faults/kafka/plants.ts';
import { falseRefusals } from './faults.ts';
import { otherReadModel } from './operations.ts';
import { voided } from './progress-statements.ts';
import { triggers } from './schema-statements.ts';
import { changeStatement } from './statements.ts';

export interface SimulationPlant {
  readonly plant: () => void;
  readonly faults: readonly string[];
}

const lostCommits = 'Postgres goes on without its last commits, on a new timeline';
const lostCommitsUnnoticed = 'Postgres goes on without its last commits, on the same timeline';

/** Changes how a running process with the log in Postgres catches up with it. */
function catchUpAs(change: (database: Database, catchUp: () => Promise<void>) => Promise<void>): void {
  const { open } = PostgresLog;
  const { catchUp } = PostgresLog.prototype;
  const databases = new WeakMap<PostgresLog, Database>();
  PostgresLog.open = async (options, signal) => {
    const engine = await open.call(PostgresLog, options, signal);
    databases.set(engine, options.database);
    return engine;
  };
  PostgresLog.prototype.catchUp = async function changed(partition) {
    const database = databases.get(this);
    await (database === undefined
      ? catchUp.call(this, partition)
      : change(database, () => catchUp.call(this, partition)));
  };
}

export const simulationPlants: Readonly<Record<string, SimulationPlant>> = {
  'every error of a broker counts as certain': {
    faults: ['sends are refused after they were written'],
    plant: () => {
      const { send } = KafkaConnection.prototype;
      KafkaConnection.prototype.send = async function sendForSure(...args) {
        try {
          return await send.apply(this, args);
        } catch (error) {
          const { type } = error as { type?: string };
          throw type !== undefined && falseRefusals.includes(type) ? new NotAppended(type) : error;
        }
      };
    },
  },
  'the log is never doubted': {
    faults: ['a broker that lacks the end of the log leads, and the former leader does not know'],
    plant: () => {
      KafkaConnection.prototype.doubtsAbout = () => 0;
    },
  },
  'a loss is seen twice by the same broker': {
    faults: ['a deposed leader reports its old end'],
    plant: () => {
      KafkaConnection.prototype.findLeaderAnew = async function believe(partition) {
        return this.leaderOf(partition)!;
      };
    },
  },
  'a proof counts whichever broker it came from': {
    faults: ['a broker that lacks the end of the log leads, and the former leader does not know'],
    plant: () => {
      KafkaConnection.prototype.leaderOf = () => 'any';
      KafkaReader.prototype.ledBy = function anyOf() {
        return this;
      };
    },
  },
  'versions do not rise after a loss': {
    faults: [lostCommits],
    plant: () => {
      const { decide } = Batch.prototype;
      Batch.prototype.decide = function decideWithoutBase(tx, run, before) {
        return decide.call(
          this,
          tx,
          run.map(({ record, event }) => {
            return {
              record,
              event: event.data.type === 'LogResumed' ? { ...event, data: { ...event.data, base: 0n } } : event,
            };
          }),
          before,
        );
      };
    },
  },
  'a deadline follows the clock of the process': {
    faults: ['the clocks of the brokers are wrong for a while'],
    plant: () => {
      KafkaLog.prototype.nextTime = function ownTime() {
        return this.now();
      };
    },
  },
  'histories of Postgres are not distinguished': {
    faults: [lostCommits, lostCommitsUnnoticed],
    plant: () => {
      HistoryGuard.prototype.check = async () => undefined;
      HistoryGuard.prototype.checkAfterRestart = async () => undefined;
    },
  },
  'nobody watches the heads of the log': {
    faults: ['another version writes'],
    plant: () => {
      changeStatement(
        'select_heads',
        (select) =>
          (...call) =>
            select(...call).map((row) => ({ ...row, projected: row['next'] })),
      );
    },
  },
  'partitions are not fenced off': {
    faults: ['two groups of projectors', 'a process is paused'],
    plant: () => {
      changeStatement('advance_progress', (advance) => (view, [partition, first, next, time, hash, logId], texts) => {
        const row = view.get('progress', String(partition))!;
        view.put('progress', String(partition), { ...row, next: first });
        return advance(view, [partition, first, next, time, hash, logId, row['epoch'], null, null], texts);
      });
      changeStatement('select_outcomes', () => () => []);
    },
  },
  'an event that was appended twice is decided twice': {
    faults: ['sends are not answered'],
    plant: () => {
      changeStatement('select_outcomes', () => () => []);
    },
  },
  'outcomes are sent before they are stored': {
    faults: ['Postgres is restarted', 'a process is killed'],
    plant: () => {
      ProgressNotifier.prototype.withNotification = async function tellFirst(notification, store) {
        this.notify(notification);
        await store(null);
        return true;
      };
    },
  },
  'a writer connection is kept while its partition is caught up': {
    faults: ['two versions write', 'an operator resumes the log beside writes'],
    plant: () => catchUpAs((database, catchUp) => database.writers.with(catchUp)),
  },
  'one version is starved by the other': {
    faults: ['two versions write'],
    plant: () => catchUpAs(async (database, catchUp) => (database.schema === otherReadModel ? undefined : catchUp())),
  },
  'a resumed replay begins with the times of the brokers': {
    faults: ['a replay takes over while clocks step'],
    plant: () => {
      changeStatement(
        'read_progress',
        (read) =>
          (view, ...call) =>
            read(view, ...call).map((row) => (view.name === rebuildName(readModelSchema) ? { ...row, time: 0 } : row)),
      );
    },
  },
  'a takeover does not wait for the last records': {
    faults: ['a replay takes over beside writes'],
    plant: () => {
      const { endWithin } = Rebuild.prototype;
      Rebuild.prototype.endWithin = function whereItIs(partition) {
        return endWithin.call(this, partition, 0n, 0n);
      };
    },
  },
  'a takeover leaves the fencing tokens as they are': {
    faults: ['a replay takes over beside writes'],
    plant: () => {
      voided.epoch = (_, epoch) => epoch;
    },
  },
  'a log that moves is not closed': {
    faults: ['the log moves'],
    plant: () => {
      triggers.refuse = false;
      voided.epoch = (_, epoch) => epoch;
    },
  },
  'an append that waits is never answered': {
    faults: ['Postgres is restarted', 'lines to Postgres are cut'],
    plant: () => {
      for (const { prototype } of [PostgresLog, KafkaLog]) {
        const { append } = prototype;
        prototype.append = async function answerOnlySuccess(this: never, ...args: Parameters<typeof append>) {
          return await append.apply(this, args).catch(() => new Promise<never>(() => undefined));
        };
      }
    },
  },
  'a passed offset counts as success of a waiting request': {
    faults: ['sends are not answered'],
    plant: servicePlants['wait by offset only'],
  },
  'an event that cannot be projected is skipped': {
    faults: ['a record is not an event'],
    plant: servicePlants['skipped poison event'],
  },
  'a row takes a key that another row has': {
    faults: ['Postgres is restarted', 'a process is killed'],
    plant: () => {
      KeysState.prototype.holder = () => null;
    },
  },
  'a write that took effect is answered 4xx': {
    faults: ['a process is killed'],
    plant: servicePlants['4xx after the append'],
  },
};
