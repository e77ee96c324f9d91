/** Creates teams in the same partition, and patches rows of one of them. */
import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { createTeam, createToken } from '../commands/teams.ts';
import { hashToken } from '../projections/teams/hash-token.ts';
import { readConfig } from '../src/app/config.ts';
import { openService } from '../src/app/service.ts';
import type { EventLog } from '../src/log/event-log.ts';
import { partitionOf } from '../src/log/partition.ts';
import { recordFact } from '../src/log/record-fact.ts';
import { newAccessToken } from '../src/storage/security/access-token.ts';
import { Connection } from './connection.ts';
import { makeRows, seededRandom } from './data.ts';
import { createTable, expectStatus, head, withBody, type Target } from './requests.ts';

/** Creates teams in one partition of a running service. `environment` has its DATABASE_URL and KAFKA_*. */
export async function createNeighbours(
  environment: Readonly<Record<string, string>>,
  { ports }: Target,
  count: number,
  folder: string,
  signal: AbortSignal,
): Promise<Target[]> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const service = await openService(readConfig({ ...given, DATA_DIR: folder }), pino({ level: 'silent' }), signal, {
    projects: false,
  });
  try {
    const { log } = service;
    await log.caughtUp();
    const teams: Target[] = [];
    while (teams.length < count) {
      const id = randomUUIDv7();
      if (partitionOf(id, log.partitions) === 0) teams.push({ ports, token: await recordTeam(log, id) });
    }
    return teams;
  } finally {
    await service.close();
  }
}

/** Creates a team with a token; resolves to the token. */
async function recordTeam(log: EventLog, id: string): Promise<string> {
  const token = newAccessToken();
  await recordFact(log, createTeam(id, 'bench'));
  await recordFact(log, createToken(id, randomUUIDv7(), 'bench', hashToken(token)));
  return token;
}

/** Patches rows of a team, one after the other. */
export class Patcher {
  readonly #connection: Connection;
  readonly #target: Target;
  readonly #rows: readonly string[];
  readonly #signal: AbortSignal;
  #patches = 0;

  private constructor(connection: Connection, target: Target, rows: readonly string[], signal: AbortSignal) {
    this.#connection = connection;
    this.#target = target;
    this.#rows = rows;
    this.#signal = signal;
  }

  /** Creates a table; `resources` closes the connection. */
  static async open(target: Target, resources: AsyncDisposableStack, signal: AbortSignal): Promise<Patcher> {
    const connection = await Connection.open(target.ports[0]!);
    resources.defer(() => connection.close());
    const { path, rowIDs } = await createTable(connection, target, makeRows(seededRandom(2), 100));
    return new Patcher(
      connection,
      target,
      rowIDs.map((id) => `${path}/rows/${id}`),
      signal,
    );
  }

  /**
   * Patches rows while `goesOn` returns true. Resolves to the milliseconds of each PATCH. Rejects if one is refused.
   */
  async patchWhile(goesOn: () => boolean): Promise<number[]> {
    const times: number[] = [];
    while (goesOn()) {
      this.#signal.throwIfAborted();
      const row = this.#rows[this.#patches % this.#rows.length]!;
      const body = Buffer.from(`{"seats":${(this.#patches += 1)}}`);
      const start = performance.now();
      expectStatus(200, await this.#connection.send(withBody(head(this.#target, 'PATCH', row), body)));
      times.push(performance.now() - start);
    }
    return times;
  }

  patchFor(seconds: number): Promise<number[]> {
    const end = performance.now() + seconds * 1_000;
    return this.patchWhile(() => performance.now() < end);
  }
}

/** The quantile of these times at `part` (0 to 1); 1 is the longest time. */
export function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}
