/** A team that means harm, and another one of the same partition, which must not notice. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { partitionCount, partitionOf } from '../../src/log/partition.ts';
import type { Api, Team } from '../support/api.ts';
import { outcomeOf, type Client } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { createTable } from '../support/tables.ts';

/** A team in the same partition. */
export async function neighbourOf(api: Api, { id }: Team): Promise<Team> {
  const partition = partitionOf(id, partitionCount);
  for (;;) {
    const team = await api.createTeam();
    if (partitionOf(team.id, partitionCount) === partition) return team;
  }
}

/** A team that goes on patching and reading a row, one request after the other, until it is stopped. */
export class Neighbour {
  readonly outcomes: string[] = [];
  readonly #client: Client;
  readonly #row: string;
  readonly #running: Promise<void>;
  #goesOn = true;

  private constructor(client: Client, row: string) {
    this.#client = client;
    this.#row = row;
    this.#running = this.#run();
  }

  static async begin({ client }: Team): Promise<Neighbour> {
    const { path, rowIds } = await createTable(client, [{ n: 0 }]);
    return new Neighbour(client, `${path}/${rowIds[0]}`);
  }

  /** Resolves to what each of its requests came to. */
  async stop(): Promise<readonly string[]> {
    this.#goesOn = false;
    await this.#running;
    return this.outcomes;
  }

  async #run(): Promise<void> {
    let n = 0;
    while (this.#goesOn) {
      n += 1;
      this.outcomes.push(outcomeOf(await this.#client.patch(this.#row, { n })));
      const read = await this.#client.get(this.#row);
      this.outcomes.push(read.json.data?.n === n ? '200' : `${outcomeOf(read)}, or another value`);
    }
  }
}

/** Sends a request, and reads nothing of the answer. The caller destroys the socket. */
export async function askAndReadNothing({ url, token }: Client, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

/** A metric of the process. */
export async function metric(
  { url }: Pick<Client, 'url'>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const answer = await fetch(`${url}/metrics`);
  return sumOf(parseMetrics(await answer.text()), name, labels)!;
}
