/**
 * Twelve teams, one in each partition, that write while the service is disturbed. Afterwards every process must answer
 * every one of them again, and have their acknowledged writes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { partitionCount, partitionOf } from '../../src/log/partition.ts';
import { Client } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { outputOf } from '../support/tablog.ts';

/**
 * How long a team may wait for its first answer after the fault, in milliseconds. It follows the speed of the machine.
 */
const answerMs = 10_000;

interface Team {
  /** One client for each process that answers requests. */
  readonly clients: readonly Client[];
  readonly row: string;
  /** The last value that was sent, and the last that was acknowledged. */
  sent: number;
  acknowledged: number;
}

export class ManyTeams {
  readonly #teams: readonly Team[];
  readonly #working: Promise<unknown>;
  readonly #stopping = new AbortController();

  private constructor(teams: readonly Team[]) {
    this.#teams = teams;
    this.#working = Promise.all(teams.map((team) => this.#work(team)));
  }

  /** Creates the teams, and lets them write to each of these URLs in turn. `environment`: that of the command line. */
  static async start(urls: readonly string[], environment: Readonly<Record<string, string>>): Promise<ManyTeams> {
    const operator = new Client(
      urls[0]!,
      await outputOf(['tokens', 'create', '--operator', '--name', 'many teams'], environment),
    );
    const byPartition = new Map<number, string>();
    while (byPartition.size < partitionCount) {
      const { json } = await operator.post('/admin/teams', { name: 'team' });
      byPartition.set(partitionOf(json.data.id, partitionCount), json.data.id);
    }
    return new ManyTeams(await Promise.all([...byPartition.values()].map((id) => createTable(operator, id, urls))));
  }

  /** How many writes were acknowledged. */
  get acknowledged(): number {
    return this.#teams.reduce((sum, team) => sum + team.acknowledged, 0);
  }

  /** Stops the writing. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  /** Stops the writing. Resolves to the problems: teams that are not answered in time, and lost writes. */
  async findProblems(): Promise<string[]> {
    await this.stop();
    const problems = await Promise.all(
      this.#teams.map(async (team, at) => {
        // One after the other, so that the last value that was sent is the last one in the log.
        const deaf: string[] = [];
        for (const client of team.clients) {
          await sleepUntil(() => write(team, client), `team ${at} is answered by ${client.url}`, answerMs).catch(
            (error: unknown) => deaf.push(String(error)),
          );
        }
        return deaf;
      }),
    );
    const lost = this.#teams.map(async (team, at) => {
      const { json } = await team.clients[0]!.get(team.row);
      return json.data.n >= team.acknowledged && json.data.n <= team.sent
        ? []
        : [`team ${at} has ${json.data.n}, and ${team.acknowledged} was acknowledged`];
    });
    return [...problems, ...(await Promise.all(lost))].flat();
  }

  async #work(team: Team): Promise<void> {
    for (let turn = 0; !this.#stopping.signal.aborted; turn += 1)
      await sleep((await write(team, team.clients[turn % team.clients.length]!)) ? 10 : 100);
  }
}

async function createTable(operator: Client, id: string, urls: readonly string[]): Promise<Team> {
  const {
    json: {
      data: { token },
    },
  } = await operator.post(`/admin/teams/${id}/tokens`, { name: 'writer' });
  const clients = urls.map((url) => new Client(url, token));
  const {
    json: {
      data: { tableID, rowIDs },
    },
  } = await clients[0]!.post('/tables', { name: 'counts', rows: [{ n: 0 }] });
  return { clients, row: `/tables/${tableID}/rows/${rowIDs[0]}`, sent: 0, acknowledged: 0 };
}

/** Whether the write was acknowledged. Values rise, so the row shows which writes are there. */
async function write(team: Team, client: Client): Promise<boolean> {
  team.sent += 1;
  const n = team.sent;
  const status = await client.patch(team.row, { n }).then(
    (answer) => answer.status,
    () => 0,
  );
  if (status === 200) team.acknowledged = Math.max(team.acknowledged, n);
  return status === 200;
}
