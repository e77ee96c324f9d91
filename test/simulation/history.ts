/** One simulated history: clients at work, one fault, and the judgement of all that the clients were told. */
import { formatRowId } from '../../src/events/row-id.ts';
import type { Extent } from '../../projections/tables/table.ts';
import type { History } from '../support/history.ts';
import { Random } from '../support/random.ts';
import { beginHistory, clock } from './clock.ts';
import { SharedTable, SimulatedClient } from './clients.ts';
import type { Deployment } from './fault.ts';
import { faults } from './faults.ts';
import type { Place } from './place.ts';
import { newWorld, type World } from './world.ts';

/** The least number of calls in a history. */
const callsMin = 50;
const clientsAtOnce = 4;

/** The longest history, in milliseconds of simulated time. */
const timeLimit = 30 * 60_000;

/** How long the service may take until it takes writes again after the fault, in milliseconds of simulated time. */
const recoveryLimit = 5 * 60_000;

export interface Simulated {
  readonly seed: number;
  readonly log: 'kafka' | 'postgres';
  readonly fault: string;
  readonly calls: number;
  /** What is wrong, one sentence each; empty when all was right. */
  readonly problems: readonly string[];
}

/** Simulates the history of a seed. `only`: faults to choose from; all if omitted. */
export async function simulate(seed: number, only?: readonly string[]): Promise<Simulated> {
  const random = new Random(seed);
  // The first numbers of neighbouring seeds are alike.
  for (let count = 0; count < 20; count += 1) random.next();
  beginHistory(random);
  const fault = random.pick(faults.filter(({ name }) => only === undefined || only.includes(name)));
  const { log } = fault;
  const world = newWorld(random, log);
  const table = new SharedTable(random);
  const { problems } = world;
  let places: readonly Place[] = [];
  const run = async (): Promise<void> => {
    places = fault.places(world);
    const deployment = { world, places, random, table, problems };
    const clients = Array.from({ length: clientsAtOnce }, (_, n) => new SimulatedClient(`client ${n}`, random, places, table));
    await untilServing(places);
    await clients[0]!.prepare(3);
    world.postgres.begin();
    world.kafka?.brokers.begin();
    let goesOn = true;
    const working = Promise.all(clients.map(async (client) => {
      while (goesOn || table.recorder.calls.length < callsMin) {
        await client.step();
        await clock.sleep(random.between(0, table.recorder.calls.length < callsMin ? 40 : 2000));
      }
    }));
    await clock.sleep(random.between(0, 300));
    await fault.strike(deployment);
    await untilServing(places);
    if (!fault.isFinal) await recovered(deployment, clients[0]!);
    goesOn = false;
    await working;
    for (const row of table.rows) await clients[0]!.read(row);
    problems.push(...fault.judge(deployment, { calls: table.recorder.calls, final: finalRows(world, table) }));
  };
  try {
    await clock.runUntil(run(), timeLimit);
  } catch (error) {
    problems.push((error as Error).stack!);
  }
  problems.push(...table.recorder.unexpected);
  return { seed, log, fault: fault.name, calls: table.recorder.calls.length, problems };
}

async function untilServing(places: readonly Place[]): Promise<void> {
  while (places.every(({ serving }) => serving === null)) await clock.sleep(50);
}

/** Each place takes writes again, by itself. */
async function recovered({ places, problems }: Deployment, client: SimulatedClient): Promise<void> {
  const limit = clock.now + recoveryLimit;
  while ((await client.add()).length === 0) {
    await clock.sleep(200);
    if (clock.now < limit) continue;
    problems.push(`writes are not taken again: ${places.flatMap(({ log }) => log?.problems() ?? ['it does not start']).join('; ')}`);
    return;
  }
}

/** The rows of the table in the read model, in table order. */
function finalRows({ postgres: { tables } }: World, { tableId }: SharedTable): History['final'] {
  const extents = ([...tables.get('extents')!.values()] as unknown as Extent[]).filter((extent) => extent.tableId === tableId)
    .toSorted((a, b) => Number(a.version - b.version));
  return extents.flatMap(({ key, segment, first, rows, version, ordinal }) => Array.from({ length: rows }, (_, index) => {
    const change = tables.get('changes')?.get(`${key} ${index}`);
    const body = (change ? change['body'] : tables.get('segment_rows')!.get(`${segment} ${first + index}`)!['body']) as string | null;
    return body === null ? [] : [{ row: formatRowId({ version, ordinal, index }), value: JSON.parse(body).value as string }];
  }).flat());
}

