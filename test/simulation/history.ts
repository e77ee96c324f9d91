/**
 * One simulated history: the clients of many teams at work, faults, and the judgement of all answers to the clients.
 */
import { allPartitions } from '../../src/log/partition.ts';
import { formatRowId } from '../../src/language/events/row-id.ts';
import { hashOfKey } from '../../projections/tables/keys/row-keys.store.ts';
import type { Extent } from '../../projections/tables/table.ts';
import { Random } from '../support/random.ts';
import { beginHistory, clock } from './clock.ts';
import { connectAllTo } from './connections.ts';
import { Load, SharedTable, SimulatedClient } from './clients.ts';
import type { SimulatedDeployment, SimulatedFault } from './fault.ts';
import { drawFaults, strikeAll } from './overlaps.ts';
import { partitions } from './partitions.ts';
import type { Place } from './place.ts';
import { Deadlock } from './waits.ts';
import { newWorld, type World } from './world.ts';

/**
 * The minimum number of calls of the first team in a history, and the number of its clients. Each other team has one
 * client, which sends fewer requests.
 */
const callsMin = 30;
const clientsAtOnce = 4;

const teamsOfPartition = 2;

/** One of so many histories has tables with keys. It follows from the seed, and draws no random number. */
const historiesOfKey = 5;

/** The longest history, in milliseconds of simulated time. */
const timeLimit = 30 * 60_000;

/**
 * How long after the faults the service may take until it accepts all writes again, in milliseconds of simulated time.
 */
const recoveryLimit = { postgres: 30_000, kafka: 60_000 };

export interface Simulated {
  readonly seed: number;
  readonly log: 'kafka' | 'postgres';
  readonly faults: readonly string[];
  readonly calls: number;
  /**
   * How long the history was, and how long after the faults all writes were accepted again, in milliseconds of
   * simulated time.
   */
  readonly ms: number;
  readonly recoveryMs: number;
  /** The problems, one sentence each; empty if there are none. */
  readonly problems: readonly string[];
}

/** Simulates the history of a seed. `only`: faults to choose one from; if omitted, all of them, and several at once. */
export async function simulate(seed: number, only?: readonly string[]): Promise<Simulated> {
  const random = new Random(seed);
  // Neighbouring seeds give similar first numbers, so these are skipped.
  for (let count = 0; count < 20; count += 1) random.next();
  beginHistory(random);
  const faults = drawFaults(random, only);
  const { log } = faults[0]!;
  const world = newWorld(random, log, faults[0]!.moves === true);
  connectAllTo(world.postgres);
  const { problems, waits } = world;
  const load = new Load();
  const hasKey = seed % historiesOfKey === 3;
  const tables = allPartitions(partitions).flatMap((partition) =>
    Array.from({ length: teamsOfPartition }, () => new SharedTable(random, partition, load, hasKey)),
  );
  let recoveryMs = 0;
  const run = async (): Promise<void> => {
    const places = faults[0]!.places(world);
    const deployment: SimulatedDeployment = { world, places, random, load, table: tables[0]!, tables, problems };
    const teams = tables.map((table, team) => {
      return Array.from(
        { length: team === 0 ? clientsAtOnce : 1 },
        (_, n) => new SimulatedClient(team === 0 ? `client ${n}` : `team ${team}`, world, places, table),
      );
    });
    await untilServing(places);
    await Promise.all(teams.map(([client], team) => client!.prepare(team === 0 ? 3 : 1)));
    // Until each version knows all tables.
    await followed(deployment, null);
    world.postgres.begin();
    world.kafka?.brokers.begin();
    const { calls } = tables[0]!.recorder;
    let goesOn = true;
    const over = Promise.withResolvers<void>();
    const hasFew = (): boolean => calls.length < callsMin;
    const working = Promise.all([
      ...teams[0]!.map(async (client) => {
        while (goesOn || hasFew()) {
          await client.step();
          await clock.sleep(random.between(0, hasFew() ? 40 : 2000));
        }
      }),
      ...teams
        .slice(1)
        .flat()
        .map(async (client) => {
          while (goesOn) {
            await client.step();
            await Promise.race([clock.sleep(random.between(0, hasFew() ? 600 : 30_000)), over.promise]);
          }
        }),
    ]);
    await clock.sleep(random.between(0, 300));
    await strikeAll(faults, deployment);
    const began = clock.now;
    const broken = faults.some(({ isFinal }) => isFinal) ? tables[0]!.partition : null;
    await recovered(
      deployment,
      teams.map(([client]) => client!),
      broken,
    );
    recoveryMs = clock.now - began;
    goesOn = false;
    over.resolve();
    await working;
    await followed(deployment, broken);
    for (const [team, [client]] of teams.entries()) for (const row of tables[team]!.rows) await client!.read(row);
    problems.push(...judge(deployment, faults));
  };
  try {
    await clock.runUntil(run(), timeLimit, () => waits.check());
  } catch (error) {
    problems.push(
      error instanceof Deadlock ? error.message : [(error as Error).stack!, ...waits.describe()].join('\n'),
    );
  }
  problems.push(...tables.flatMap(({ recorder }) => recorder.unexpected));
  const calls = tables.reduce((sum, { recorder }) => sum + recorder.calls.length, 0);
  return { seed, log, faults: faults.map(({ name }) => name), calls, ms: clock.now, recoveryMs, problems };
}

async function untilServing(places: readonly Place[]): Promise<void> {
  while (places.every(({ serving }) => serving === null)) await clock.sleep(50);
}

/** Checks that the service recovers by itself, within the limit: each process accepts a write of each team. */
async function recovered(
  deployment: SimulatedDeployment,
  clients: readonly SimulatedClient[],
  broken: number | null,
): Promise<void> {
  const { world, places, tables, random, problems } = deployment;
  const began = clock.now;
  const limit = began + recoveryLimit[world.log];
  const after = (): string => `${Math.round((clock.now - began) / 1000)} s after the faults`;
  const missing = await Promise.all(
    clients.flatMap((client, team) =>
      places.map(async (place) => {
        if (place.role === 'projector' || tables[team]!.partition === broken) return null;
        while (place.serving === null || (await client.add(place)).length === 0) {
          if (clock.now > limit)
            return `${after()} ${place.name} takes no write of team ${team}: ${place.log?.problems().join('; ') ?? 'it does not start'}`;
          await clock.sleep(random.between(200, 2000));
        }
        return clock.now > limit ? `only ${after()} ${place.name} took a write of team ${team}` : null;
      }),
    ),
  );
  problems.push(...missing.filter((problem) => problem !== null));
}

/** Checks that each read model gets the whole log within the limit while nobody writes. */
async function followed({ world, places, problems }: SimulatedDeployment, broken: number | null): Promise<void> {
  const limit = clock.now + recoveryLimit[world.log];
  for (const readModel of readModelsOf(places)) {
    while (clock.now <= limit && behind(world, readModel, broken).length > 0) await clock.sleep(50);
    const partitionsBehind = behind(world, readModel, broken);
    if (partitionsBehind.length > 0)
      problems.push(`the read model ${readModel} stays behind the log in partition ${partitionsBehind.join(', ')}`);
  }
}

/** The read models that processes use. */
function readModelsOf(places: readonly Place[]): string[] {
  return [...new Set(places.map(({ readModel }) => readModel))];
}

/** The partitions for which a read model lacks events. */
function behind({ log, kafka, postgres }: World, readModel: string, broken: number | null): number[] {
  return allPartitions(partitions).filter((partition) => {
    const end =
      log === 'postgres'
        ? postgres.rowsOf('heads').get(String(partition))!['next']
        : BigInt(kafka!.brokers.partitions[partition]!.records.length);
    return partition !== broken && postgres.rowsOf('progress', readModel).get(String(partition))!['next'] !== end;
  });
}

/** The problems in the answers to the clients of all teams, and in what is stored. */
function judge(deployment: SimulatedDeployment, faults: readonly SimulatedFault[]): string[] {
  const { world, places, tables } = deployment;
  return tables.flatMap((table, team) =>
    readModelsOf(places).flatMap((readModel) => {
      const rows = finalRows(world, table, readModel);
      const final = rows.map(({ row, cells }) => ({ row, value: cells.value }));
      const history = { calls: table.recorder.calls, final };
      const found = faults.map((fault) => fault.judge(deployment, history));
      // If one of the faults allows more, its checker counts.
      return [
        ...found.reduce((a, b) => (a.length <= b.length ? a : b)),
        ...keyProblems(world, table, readModel, rows),
      ].map((problem) => (team === 0 ? problem : `team ${team}: ${problem}`));
    }),
  );
}

interface FinalRow {
  readonly row: string;
  readonly cells: { readonly value: string; readonly claim?: string | null };
  /** Where it is stored: the key of its extent, and its index there. */
  readonly place: string;
}

/** The rows of the table in a read model, in table order. */
function finalRows({ postgres }: World, { tableId }: SharedTable, readModel: string): FinalRow[] {
  const rowsOf = (table: string): ReturnType<typeof postgres.rowsOf> => postgres.rowsOf(table, readModel);
  const extents = ([...rowsOf('extents').values()] as unknown as Extent[])
    .filter((extent) => extent.tableId === tableId)
    .toSorted((a, b) => Number(a.version - b.version));
  return extents.flatMap(({ key, segment, first, rows, version, ordinal }) =>
    Array.from({ length: rows }, (_, index) => {
      const change = rowsOf('changes').get(`${key} ${index}`);
      const body = (change ? change['body'] : rowsOf('segment_rows').get(`${segment} ${first + index}`)!['body']) as
        | string
        | null;
      if (body === null) return [];
      return [{ row: formatRowId({ version, ordinal, index }), cells: JSON.parse(body), place: `${key} ${index}` }];
    }).flat(),
  );
}

/** Checks that no two rows have the same key, and that the index of keys has exactly the rows that have one. */
function keyProblems(
  { postgres }: World,
  { tableId, hasKey }: SharedTable,
  readModel: string,
  rows: readonly FinalRow[],
): string[] {
  if (!hasKey) return [];
  const claimed = rows.flatMap(({ row, cells: { claim }, place }) =>
    (claim ?? null) === null ? [] : { row, claim, place },
  );
  const twins = claimed.filter(({ claim }, at) => claimed.findIndex((other) => other.claim === claim) !== at);
  const indexed = new Map(
    [...postgres.rowsOf('row_keys', readModel).values()]
      .filter((entry) => entry['tableId'] === tableId)
      .map(({ hash, extent, index }) => [hash, `${extent} ${index}`]),
  );
  const isIndexed =
    claimed.length === indexed.size &&
    claimed.every(({ claim, place }) => indexed.get(hashOfKey(JSON.stringify([claim]))) === place);
  return [
    ...twins.map(({ row, claim }) => `in the end row ${row} has the key ${claim}, as another row has`),
    ...(isIndexed || twins.length > 0 ? [] : ['in the end the index of keys differs from the rows']),
  ];
}
