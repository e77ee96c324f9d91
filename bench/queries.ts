/**
 * `npm run bench:queries`: filters, sorts, groups and exports, compared with SQL on a table of typed columns in the
 * same Postgres. It also measures the cost of the copies of tables that answer them. See README.md.
 */
import { deepStrictEqual } from 'node:assert';
import { join } from 'node:path';
import { Connection } from './connection.ts';
import { below, rowsPerRequest, seededRandom, type Row } from './data.ts';
import { settle, startServers } from './environment.ts';
import type { Goal } from './measurements.ts';
import { readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { childOf, endOf, peakMemoryMiB } from './processes.ts';
import { countLines, digest } from './queries/answers.ts';
import { cases, type Question, type QueryCase } from './queries/cases.ts';
import { copyRows } from './queries/copy-rows.ts';
import { makeRowChunks, querySchema } from './queries/data.ts';
import { costLine, speedLine, type Times } from './queries/lines.ts';
import { readTable } from './read-table.ts';
import { renderTable, show, verdict } from './report.ts';
import { expectStatus, head, withBody, type Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';
import { uploadChunks } from './stash-load.ts';
import { timed } from './timed.ts';
import { startYardstick } from './yardstick-process.ts';

const options = {
  /** The numbers of rows of the large and of the small table. */
  rows: wholeNumber(1_000_000, { min: rowsPerRequest }),
  small: wholeNumber(100_000, { min: rowsPerRequest }),
  rounds: wholeNumber(5),
  /** How often each question is sent in a round. */
  requests: wholeNumber(10),
};

type Options = OptionsOf<typeof options>;

/** The rows in the service and in Postgres. */
interface LoadedTable {
  readonly rows: number;
  readonly tableID: string;
  /** The name of the table in Postgres. */
  readonly table: string;
}

const loadConnections = 8;
const memoryGoalMiB = 600;
const copyRoundsMax = 3;

async function run(options: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const { databases } = await startServers(surroundings, ['yardstick', 'service'], 'postgres');
  const { target: theirs } = await startYardstick(
    databases.yardstick,
    join(folder, 'yardstick.log'),
    resources,
    signal,
    'queries/yardstick.ts',
  );
  const {
    target: ours,
    processes: [main],
  } = await startService(
    { environment: serviceEnvironment(databases.service, undefined, ''), folder: join(folder, 'service') },
    ['all'],
    resources,
    signal,
  );
  const bench = new Bench(theirs, ours, options, signal);
  try {
    await measure(bench, options, databases, main!.pid, signal);
  } catch (error) {
    throw new Error(
      `${(error as Error).message}\n(the service: ${await endOf(join(folder, 'service', 'all-1.log'))})`,
      { cause: error },
    );
  }
}

async function measure(
  bench: Bench,
  options: Options,
  databases: Record<'yardstick' | 'service', string>,
  pid: number,
  signal: AbortSignal,
): Promise<void> {
  const chunks = makeRowChunks(options.rows);
  const loadTable = async (name: string, some: readonly Buffer[]): Promise<LoadedTable> => {
    await copyRows(databases.yardstick, name, some, signal);
    await bench.upload(name, some);
    return { rows: some.length * rowsPerRequest, tableID: await bench.createFrom(name), table: name };
  };
  const large = await loadTable('large', chunks);
  const small = options.small < options.rows ? await loadTable('small', makeRowChunks(options.small)) : null;
  await settle(Object.values(databases));

  const lines: string[][] = [];
  for (const one of cases)
    lines.push(await bench.compare(one, large, chunks, one.goal === undefined ? undefined : { atLeast: one.goal }));
  lines.push(await bench.compareExport(large, { atLeast: 1 }));
  for (const one of small === null ? [] : cases) lines.push(await bench.compare(one, small!, chunks, { atLeast: 1 }));
  console.log(
    `\n${renderTable([['', 'rows', 'yardstick: p50, ms', 'p95', 'service: p50, ms', 'p95', 'speed to yardstick', 'rounds', 'goal', ''], ...lines])}`,
  );

  const engine = await childOf(pid);
  const costs: string[][] = [];
  for (const one of cases) costs.push(await bench.freshness(one, large, chunks));
  costs.push(...(await bench.copying('large', chunks)));
  if ((await childOf(pid)) !== engine) throw new Error('the query engine was started again');
  const memory = engine === undefined ? undefined : await peakMemoryMiB(engine);
  console.log(`\n${renderTable([['', 'ms', 'compared with', 'ms', 'ratio', 'rounds', 'goal', ''], ...costs])}`);
  console.log(
    `\npeak memory: query engine ${show(memory)} MiB (goal: < ${memoryGoalMiB}, ${verdict(memory === undefined ? undefined : memory < memoryGoalMiB)}), ` +
      `service ${show(await peakMemoryMiB(pid))} MiB`,
  );
}

/** Sends questions to both sides. */
class Bench {
  readonly #yardstick: Target;
  readonly #service: Target;
  readonly #options: Options;
  readonly #signal: AbortSignal;
  #patches = 0;

  constructor(yardstick: Target, service: Target, options: Options, signal: AbortSignal) {
    this.#yardstick = yardstick;
    this.#service = service;
    this.#options = options;
    this.#signal = signal;
  }

  /** Uploads chunks to a stash of the service. */
  upload(stash: string, chunks: readonly Buffer[]): Promise<void> {
    return uploadChunks(
      this.#service,
      chunks,
      { stash, chunks: chunks.length, connections: loadConnections },
      this.#signal,
    );
  }

  /** Creates a table with the rows of a stash; resolves to its ID. */
  async createFrom(stash: string): Promise<string> {
    const answer = await this.#call('POST', '/tables', 201, {
      name: stash,
      schema: querySchema,
      rows: { $stashID: stash },
    });
    return /"tableID":"([^"]+)"/.exec(answer.toString('latin1', 0, 200))![1]!;
  }

  /**
   * A line of the report: the times of both sides, in alternating rounds. The first round is not counted; it compares
   * the answers.
   */
  async compare(
    { label, question }: QueryCase,
    { rows, tableID, table }: LoadedTable,
    chunks: readonly Buffer[],
    goal: Goal | undefined,
  ): Promise<string[]> {
    const [theirs, ours]: [Times, Times] = [[], []];
    for (let round = 0; round <= this.#options.rounds; round += 1) {
      const questions = this.#questions(question, round, chunks);
      const asked = [
        {
          times: theirs,
          ask: () =>
            this.#ask(
              this.#yardstick,
              questions.map(({ sql }) => this.#request(this.#yardstick, '/query', { statements: sql(table) })),
            ),
        },
        {
          times: ours,
          ask: () =>
            this.#ask(
              this.#service,
              questions.map(({ body }) => this.#request(this.#service, `/tables/${tableID}/query`, body)),
            ),
        },
      ];
      const answers: string[][][] = [];
      for (const { times, ask } of round % 2 === 0 ? asked : asked.toReversed()) {
        const answered = await ask();
        if (round > 0) times.push(answered.times);
        else answers.push(answered.bodies.map(digest));
      }
      deepStrictEqual(answers[0], answers[1], `${label}: the answers differ`);
    }
    return speedLine(label, rows, theirs, ours, goal);
  }

  /** A line of the report for an export of all rows as CSV. */
  async compareExport({ rows, tableID, table }: LoadedTable, goal: Goal): Promise<string[]> {
    const [theirs, ours]: [Times, Times] = [[], []];
    for (let round = 0; round <= this.#options.rounds; round += 1) {
      const asked = [
        { times: theirs, read: () => countLines(this.#yardstick, `/export?table=${table}`, this.#signal) },
        { times: ours, read: () => countLines(this.#service, `/tables/${tableID}/export?format=csv`, this.#signal) },
      ];
      for (const { times, read } of round % 2 === 0 ? asked : asked.toReversed()) {
        const { seconds, result } = await timed(read);
        if (result !== rows + 1) throw new Error(`an export has ${result} lines, not ${rows + 1}`);
        if (round > 0) times.push([seconds * 1_000]);
      }
    }
    return speedLine('export of all as CSV', rows, theirs, ours, goal);
  }

  /** A line of the report: the times of a query right after a PATCH, and without one. */
  async freshness(
    { label, question }: QueryCase,
    { tableID }: LoadedTable,
    chunks: readonly Buffer[],
  ): Promise<string[]> {
    const page = await this.#call('GET', `/tables/${tableID}/rows?limit=${rowsPerRequest}`, 200);
    const rowIds = (JSON.parse(page.toString()) as { data: { $rowID: string }[] }).data.map(({ $rowID }) => $rowID);
    const patch = async (): Promise<void> => {
      this.#patches += 1;
      await this.#call('PATCH', `/tables/${tableID}/rows/${rowIds[this.#patches % rowIds.length]}`, 200, {
        seats: 1_000_000 + this.#patches,
      });
    };
    const [without, after]: [Times, Times] = [[], []];
    for (let round = 0; round <= this.#options.rounds; round += 1) {
      const requests = this.#questions(question, round, chunks).map(({ body }) =>
        this.#request(this.#service, `/tables/${tableID}/query`, body),
      );
      const asked = [
        { times: without, before: async () => {} },
        { times: after, before: patch },
      ];
      for (const { times, before } of round % 2 === 0 ? asked : asked.toReversed()) {
        const answered = await this.#ask(this.#service, requests, before);
        if (round > 0) times.push(answered.times);
      }
    }
    return costLine(`${label}: after a PATCH`, after, 'without', without, { atMost: 1.5 });
  }

  /**
   * Lines of the report: the first query of a table, compared with reading the table in pages; and the query after an
   * import that doubles the table, compared with that import and its upload.
   */
  async copying(stash: string, chunks: readonly Buffer[]): Promise<string[][]> {
    const [cold, reading, catchingUp, importing]: [Times, Times, Times, Times] = [[], [], [], []];
    const push = async (times: Times, work: () => Promise<unknown>): Promise<void> => {
      times.push([(await timed(work)).seconds * 1_000]);
    };
    for (let round = 0; round < Math.min(this.#options.rounds, copyRoundsMax); round += 1) {
      const tableID = await this.createFrom(stash);
      const count = async (rows: number): Promise<void> => {
        const answer = await this.#call('POST', `/tables/${tableID}/query`, 200, { aggregate: [{ op: 'count' }] });
        deepStrictEqual(JSON.parse(answer.toString()), { data: [{ count: rows }] });
      };
      const rows = chunks.length * rowsPerRequest;
      const first = [
        () =>
          push(reading, async () =>
            deepStrictEqual(
              await connected(this.#service, (connection) => readTable(connection, this.#service, tableID)),
              rows,
            ),
          ),
        () => push(cold, () => count(rows)),
      ];
      for (const work of round % 2 === 0 ? first : first.toReversed()) await work();
      const more = `more-${round}`;
      await push(importing, async () => {
        await this.upload(more, chunks);
        await this.#call('POST', `/tables/${tableID}/rows`, 201, { $stashID: more });
      });
      await push(catchingUp, () => count(2 * rows));
      await this.#call('DELETE', `/tables/${tableID}`, 200);
      await this.#call('DELETE', `/stashes/${more}`, 200);
    }
    return [
      costLine('the first query', cold, 'reading the table in pages', reading, { atMost: 4 }),
      costLine(
        'the query after an import that doubles the table',
        catchingUp,
        'the import, with its upload',
        importing,
        { atMost: 1 },
      ),
    ];
  }

  /** The questions of a round, the same on both sides. */
  #questions(question: QueryCase['question'], round: number, chunks: readonly Buffer[]): Question[] {
    const random = seededRandom(round + 1);
    return Array.from({ length: this.#options.requests }, () => {
      const rows = JSON.parse(chunks[below(random, chunks.length)]!.toString()) as Row[];
      return question(random, rows[below(random, rows.length)]!);
    });
  }

  #request(target: Target, path: string, body: object): Buffer {
    return withBody(head(target, 'POST', path), Buffer.from(JSON.stringify(body)));
  }

  /** Sends requests one after the other. Before each, runs `before`, which is not timed. */
  #ask(
    target: Target,
    requests: readonly Buffer[],
    before: () => Promise<void> = async () => {},
  ): Promise<{ times: number[]; bodies: Buffer[] }> {
    return connected(target, async (connection) => {
      const [times, bodies]: [number[], Buffer[]] = [[], []];
      for (const request of requests) {
        this.#signal.throwIfAborted();
        await before();
        const start = performance.now();
        const answer = await connection.send(request);
        times.push(performance.now() - start);
        bodies.push(expectStatus(200, answer));
      }
      return { times, bodies };
    });
  }

  /** Sends a request to the service. */
  #call(method: string, path: string, status: number, body?: object): Promise<Buffer> {
    const start = head(this.#service, method, path);
    const request = body === undefined ? `${start}\r\n` : withBody(start, Buffer.from(JSON.stringify(body)));
    return connected(this.#service, async (connection) => expectStatus(status, await connection.send(request)));
  }
}

/** Opens a connection while `work` runs. The service would close a shared one that is unused for long. */
async function connected<T>({ ports }: Target, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.open(ports[0]!);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
