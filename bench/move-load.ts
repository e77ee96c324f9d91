/** Clients that keep writing, also after refusals, and note the times of the answers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { makeRow, makeRows, rowsPerRequest, seededRandom } from './data.ts';
import { createTable, head, withBody, type Target } from './requests.ts';

/** The content of each request: one column of a row, or a thousand rows. */
export type Kind = 'patch' | 'add';

/** How long a client waits after a refusal or a broken connection, in milliseconds. */
const retryMs = 20;

export class MoveLoad {
  readonly #clients: readonly Promise<void>[];
  #ended = false;
  #lastAt = performance.now();
  #longestMs = 0;
  #failure: Error | null = null;

  private constructor(makeRequests: readonly (() => Buffer)[], ports: readonly number[]) {
    this.#clients = makeRequests.map((makeRequest, n) => this.#write(makeRequest, ports[n % ports.length]!));
  }

  /** Starts this many clients for each team, each with its own table. All targets are the same service. */
  static async start(teams: readonly Target[], clients: number, kind: Kind): Promise<MoveLoad> {
    const requests: (() => Buffer)[] = [];
    for (const target of teams) {
      const connection = await Connection.open(target.ports[0]!);
      try {
        for (let n = 0; n < clients; n += 1) requests.push(await requestsOf(connection, target, kind));
      } finally {
        connection.close();
      }
    }
    return new MoveLoad(requests, teams[0]!.ports);
  }

  /** Whether there was an unexpected answer, which ends all clients. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /**
   * Ends the clients. Resolves to the longest time without a successful write of any client, in milliseconds. Rejects
   * if there was an unexpected answer.
   */
  async end(): Promise<number> {
    this.#ended = true;
    await Promise.all(this.#clients);
    if (this.#failure !== null) throw this.#failure;
    return this.#longestMs;
  }

  async #write(makeRequest: () => Buffer, port: number): Promise<void> {
    let connection: Connection | null = null;
    while (!this.#ended) {
      try {
        connection ??= await Connection.open(port);
        const { status, body } = await connection.send(makeRequest());
        if (status === 200 || status === 201) {
          const now = performance.now();
          this.#longestMs = Math.max(this.#longestMs, now - this.#lastAt);
          this.#lastAt = now;
          continue;
        }
        if (status !== 503) {
          this.#failure ??= new Error(`a write was answered ${status}: ${body.toString('utf8', 0, 500)}`);
          this.#ended = true;
        }
      } catch {
        // The process ends after the log has moved, and another one is started on the same port.
        connection?.close();
        connection = null;
      }
      await sleep(retryMs);
    }
    connection?.close();
  }
}

async function requestsOf(connection: Connection, target: Target, kind: Kind): Promise<() => Buffer> {
  const random = seededRandom(1);
  const { path, rowIDs } = await createTable(connection, target, [makeRow(random)]);
  if (kind === 'add') {
    const request = withBody(
      head(target, 'POST', `${path}/rows`),
      Buffer.from(JSON.stringify(makeRows(random, rowsPerRequest))),
    );
    return () => request;
  }
  const requestHead = head(target, 'PATCH', `${path}/rows/${rowIDs[0]}`);
  let patches = 0;
  return () => withBody(requestHead, Buffer.from(`{"seats":${1_000_000 + patches++}}`));
}
