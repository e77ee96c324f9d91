/**
 * Replays beside a service that accepts writes: a read model is rebuilt and takes over, while clocks step, and while
 * replays and processes are killed.
 */
import { models, readModelSchema } from '../../projections/models.ts';
import { replay } from '../../src/operations/replay/replay.ts';
import { rebuildName } from '../../src/operations/replay/replay-progress.ts';
import { replacedName } from '../../src/operations/replay/take-over.ts';
import { clock } from './clock.ts';
import { runUntilDone } from './command.ts';
import { apart, nothingIsLost, together, type SimulatedDeployment, type SimulatedFault } from './fault.ts';
import { openRecords } from './operator.ts';
import type { TableRow, Tables } from './view.ts';

// Garbage is not simulated: in these minutes hardly anything becomes old enough to be removed.
for (const model of Object.values(models)) Object.assign(model, { garbage: {} });

const minute = 60_000;

/** While `isOver` is false, the clocks of the brokers, of Postgres and of the processes step forward and back. */
async function stepClocks(
  { world: { postgres, kafka }, places, random }: SimulatedDeployment,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const by = random.between(-5, 10) * minute;
    const place = random.pick(places);
    const step = random.pick([
      (skew: number) => ((kafka === null ? postgres : kafka.brokers).skew = skew),
      (skew: number) => (postgres.skew = skew),
      (skew: number) => place.setClock(skew),
    ]);
    step(by);
    await clock.sleep(random.between(5, 1000));
    step(0);
    await clock.sleep(random.between(100, 4000));
  }
}

/** The differences between a read model that takes over and the one that served, one sentence each. */
function differences(served: Tables, rebuilt: Tables): string[] {
  const rowsOf = (tables: Tables, table: string): ReadonlyMap<string, TableRow> =>
    tables.get(table) ?? new Map<string, TableRow>();
  const partitionsOf = (tables: Tables): ReadonlyMap<string, TableRow> => rowsOf(tables, 'progress');
  const compared = new Set<unknown>();
  const problems: string[] = [];
  for (const [partition, before] of partitionsOf(served)) {
    const after = partitionsOf(rebuilt).get(partition)!;
    // Held events are decided later, and lost ones are gone.
    if ([before, after].some(({ held, contradicted }) => held !== '{}' || contradicted === true)) continue;
    compared.add(Number(partition));
    if ((after['next'] as bigint) < (before['next'] as bigint))
      problems.push(
        `a read model took over that is at ${String(after['next'])} in partition ${partition}, the one that served at ${String(before['next'])}`,
      );
    if (after['next'] !== before['next']) continue;
    for (const what of ['time', 'base', 'gaps'] as const) {
      if (String(after[what]) !== String(before[what]))
        problems.push(
          `a read model took over with the ${what} ${String(after[what])} in partition ${partition}, the one that served has ${String(before[what])}`,
        );
    }
  }
  const shown = (row: TableRow | undefined): string =>
    JSON.stringify(row ?? null, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  for (const [key, outcome] of rowsOf(served, 'outcomes')) {
    const found = rowsOf(rebuilt, 'outcomes').get(key);
    if (compared.has(Number(outcome['partition'])) && shown(found) !== shown(outcome))
      problems.push(
        `a read model took over with the outcome ${shown(found)}, the one that served has ${shown(outcome)}`,
      );
  }
  return problems;
}

/** Compares each read model that takes over with the one that served, at the moment of the takeover. */
function watchTakeovers({ world: { postgres }, problems }: SimulatedDeployment): void {
  let served = postgres.readModels.get(readModelSchema);
  postgres.onSchemasChanged = () => {
    const present = postgres.readModels.get(readModelSchema)!;
    const before = postgres.readModels.get(replacedName(readModelSchema));
    if (present !== served && before !== undefined && before === served) problems.push(...differences(before, present));
    served = present;
  };
}

/** How many replays are running in each deployment. */
const underWay = new WeakMap<SimulatedDeployment, number>();

async function strike(deployment: SimulatedDeployment, steps: boolean): Promise<void> {
  const { world, random, problems } = deployment;
  const { postgres } = world;
  watchTakeovers(deployment);
  const { timeline } = postgres;
  const others = (): number => underWay.get(deployment) ?? 0;
  underWay.set(deployment, others() + 1);
  let isOver = false;
  const stepping = steps ? stepClocks(deployment, () => isOver) : Promise.resolve();
  await runUntilDone(deployment, {
    name: 'the replay',
    work: async (process, database) => {
      const log = await openRecords(world, process, database);
      await replay({
        url: '',
        log,
        batchEvents: random.pick([1, 5, 500]),
        onProgress: () => undefined,
        signal: new AbortController().signal,
      });
    },
  });
  isOver = true;
  await stepping;
  const left = [rebuildName, replacedName]
    .map((nameOf) => nameOf(readModelSchema))
    .filter((name) => postgres.readModels.has(name));
  underWay.set(deployment, others() - 1);
  // If Postgres has lost commits, the next replay removes what is left.
  if (left.length > 0 && others() === 0 && postgres.timeline === timeline)
    problems.push(`a replay has left ${left.join(', ')} behind`);
}

export const replays: readonly SimulatedFault[] = (['kafka', 'postgres'] as const).flatMap((log): SimulatedFault[] => [
  {
    name: 'a replay takes over beside writes',
    log,
    places: log === 'kafka' ? apart : together,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: (deployment) => strike(deployment, false),
  },
  {
    name: 'a replay takes over while clocks step',
    log,
    places: log === 'kafka' ? apart : together,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: (deployment) => strike(deployment, true),
  },
]);
