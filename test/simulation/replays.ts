/** Replays beside a service that takes writes: a read model is built anew and takes over, while clocks step, and while replays and processes are killed. */
import { models, readModelSchema } from '../../projections/models.ts';
import { Database } from '../../src/database/database.ts';
import { replay } from '../../src/replay/replay.ts';
import { rebuildName } from '../../src/replay/replay-progress.ts';
import { replacedName } from '../../src/replay/take-over.ts';
import { clock, SimulatedProcess } from './clock.ts';
import { cutConnectionsOf } from './connections.ts';
import { apart, nothingIsLost, together, type Deployment, type Fault } from './fault.ts';
import { openRecords } from './operator.ts';
import type { Row, Tables } from './view.ts';

// Garbage is not simulated: in these minutes hardly any becomes old enough to go.
for (const model of Object.values(models)) Object.assign(model, { garbage: {} });

const minute = 60_000;

/** How often a replay is interrupted at most, and how often one is tried anew that fails. */
const interruptionsMax = 3;
const attemptsMax = 200;

/** What becomes of one run of `tablog replay`. */
type Ended = 'done' | 'killed' | Error;

/** Runs `tablog replay`, and kills it after so many milliseconds; null: not at all. */
async function runReplay({ world, random }: Deployment, killedAfter: number | null): Promise<Ended> {
  const process = new SimulatedProcess('replay');
  const killed = Promise.withResolvers<Ended>();
  if (killedAfter !== null) {
    clock.schedule(killedAfter, () => {
      process.kill();
      cutConnectionsOf(process);
      killed.resolve('killed');
    }, null);
  }
  if (random.chance(0.2)) {
    clock.schedule(random.between(0, 5000), () => {
      process.pause();
      clock.schedule(random.between(100, 20_000), () => process.resume(), null);
    }, null);
  }
  const running = process.run(async (): Promise<Ended> => {
    const database = await Database.open({ url: '', schema: readModelSchema });
    try {
      const log = await openRecords(world, process, database);
      await replay({ url: '', log, batchEvents: random.pick([1, 5, 500]), onProgress: () => undefined, signal: new AbortController().signal });
      return 'done';
    } catch (error) {
      return error as Error;
    } finally {
      await database.close();
    }
  });
  return Promise.race([running, killed.promise]);
}

/** While `isOver` is false, the clocks of the brokers, of Postgres and of the processes step, and step back. */
async function stepClocks({ world: { postgres, kafka }, places, random }: Deployment, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const by = random.between(-5, 10) * minute;
    const place = random.pick(places);
    const step = random.pick([
      (skew: number) => (kafka === null ? postgres : kafka.brokers).skew = skew,
      (skew: number) => postgres.skew = skew,
      (skew: number) => place.setClock(skew),
    ]);
    step(by);
    await clock.sleep(random.between(5, 1000));
    step(0);
    await clock.sleep(random.between(100, 4000));
  }
}

/** What a read model that takes over lacks, or has otherwise, of what the one has that served: one sentence each. */
function differences(served: Tables, rebuilt: Tables): string[] {
  const rowsOf = (tables: Tables, table: string): ReadonlyMap<string, Row> => tables.get(table) ?? new Map<string, Row>();
  const partitionsOf = (tables: Tables): ReadonlyMap<string, Row> => rowsOf(tables, 'progress');
  const compared = new Set<unknown>();
  const problems: string[] = [];
  for (const [partition, before] of partitionsOf(served)) {
    const after = partitionsOf(rebuilt).get(partition)!;
    // What is held is decided later, and what was lost is gone.
    if ([before, after].some(({ held, contradicted }) => held !== '{}' || contradicted === true)) continue;
    compared.add(Number(partition));
    if ((after['next'] as bigint) < (before['next'] as bigint)) problems.push(`a read model took over that is at ${String(after['next'])} in partition ${partition}, the one that served at ${String(before['next'])}`);
    if (after['next'] !== before['next']) continue;
    for (const what of ['time', 'base', 'gaps'] as const) {
      if (String(after[what]) !== String(before[what])) problems.push(`a read model took over with the ${what} ${String(after[what])} in partition ${partition}, the one that served has ${String(before[what])}`);
    }
  }
  const shown = (row: Row | undefined): string => JSON.stringify(row ?? null, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  for (const [key, outcome] of rowsOf(served, 'outcomes')) {
    const found = rowsOf(rebuilt, 'outcomes').get(key);
    if (compared.has(Number(outcome['partition'])) && shown(found) !== shown(outcome)) problems.push(`a read model took over with the outcome ${shown(found)}, the one that served has ${shown(outcome)}`);
  }
  return problems;
}

/** Compares each read model that takes over with the one that served, in the moment in which it does. */
function watchTakeovers({ world: { postgres }, problems }: Deployment): void {
  let served = postgres.readModels.get(readModelSchema);
  postgres.onSchemasChanged = () => {
    const present = postgres.readModels.get(readModelSchema)!;
    const before = postgres.readModels.get(replacedName(readModelSchema));
    if (present !== served && before !== undefined && before === served) problems.push(...differences(before, present));
    served = present;
  };
}

async function strike(deployment: Deployment, steps: boolean): Promise<void> {
  const { places, random, problems, world: { postgres } } = deployment;
  watchTakeovers(deployment);
  const { timeline } = postgres;
  let isOver = false;
  const stepping = steps ? stepClocks(deployment, () => isOver) : Promise.resolve();
  let interruptions = random.below(interruptionsMax + 1);
  let failure: unknown = null;
  for (let attempt = 0; ; attempt += 1) {
    const isInterrupted = interruptions > 0;
    interruptions -= 1;
    if (random.chance(0.2)) random.pick(places).kill();
    const ended = await runReplay(deployment, isInterrupted ? random.between(1, random.pick([20, 200, 2000])) : null);
    if (ended === 'done') break;
    if (ended !== 'killed') failure = ended;
    if (attempt === attemptsMax) {
      problems.push(`a replay fails again and again: ${String(failure)}`);
      break;
    }
    await clock.sleep(random.between(100, 1500));
  }
  isOver = true;
  await stepping;
  const left = [rebuildName, replacedName].map((nameOf) => nameOf(readModelSchema)).filter((name) => postgres.readModels.has(name));
  // Where Postgres has lost commits, the next replay removes what is left.
  if (left.length > 0 && postgres.timeline === timeline) problems.push(`a replay has left ${left.join(', ')} behind`);
}

export const replays: readonly Fault[] = (['kafka', 'postgres'] as const).flatMap((log): Fault[] => [
  {
    name: 'a replay takes over beside writes', log, places: log === 'kafka' ? apart : together, judge: nothingIsLost, overlaps: 'any',
    strike: (deployment) => strike(deployment, false),
  },
  {
    name: 'a replay takes over while clocks step', log, places: log === 'kafka' ? apart : together, judge: nothingIsLost, overlaps: 'any',
    strike: (deployment) => strike(deployment, true),
  },
]);
