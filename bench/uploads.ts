/**
 * `npm run bench:uploads`: the speed of uploads and downloads with files in a folder, compared with a bare server that
 * pipes bodies to files. See README.md.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { startServers } from './environment.ts';
import { readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { memoryMiB, peakMemoryMiB, startServer } from './processes.ts';
import { median, renderTable, show, showRatio } from './report.ts';
import { caller } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';
import { timed } from './timed.ts';

const options = {
  /** The size of the large file, in MiB. */
  size: wholeNumber(1024),
  /** The number of small files. */
  files: wholeNumber(64),
  rounds: wholeNumber(3),
};

type Options = OptionsOf<typeof options>;

const smallMiB = 10;
const connections = 8;
const contentType = 'application/octet-stream';
/** The content of files; random, so that no file system can compress it. */
const mebibyte = randomBytes(2 ** 20);

/**
 * A server that stores files. `create` resolves to the location for sending a file, and `complete` to the location for
 * reading it.
 */
interface Side {
  /** The figures of each round. */
  readonly figures: Figures[];
  create(): Promise<{ location: string; complete: () => Promise<string> }>;
}

interface Figures {
  /** MiB per second. */
  large: number;
  back: number;
  small: number;
  /** The milliseconds that each completion of a small file took. */
  completions: number[];
}

async function run({ size: sizeMiB, files, rounds }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const {
    databases: { service: database },
  } = await startServers(surroundings, ['service'], 'postgres');
  const environment = {
    ...serviceEnvironment(database, undefined, 'uploads'),
    UPLOAD_SIZE_MAX_BYTES: String(sizeMiB * 2 ** 20 + smallMiB * 2 ** 20),
    UPLOADS_OPEN_MAX: String(files + connections),
  };
  const { target, processes } = await startService(
    { environment, folder: join(folder, 'service') },
    ['all'],
    resources,
    signal,
  );
  const service = processes[0]!;
  const own = join(folder, 'yardstick');
  await mkdir(own);
  const bare = await startServer(
    {
      name: 'yardstick',
      nodeArguments: [join(import.meta.dirname, 'file-yardstick.ts')],
      environment: { FOLDER: own },
      logFile: join(folder, 'yardstick.log'),
    },
    resources,
    signal,
  );
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  resources.defer(() => agent.destroy());

  const call = caller(target);
  const serviceSide: Side = {
    figures: [],
    create: async () => {
      const body = JSON.stringify({ contentType, fileName: 'file' });
      const data = await call<{ uploadID: string; uploadLocation: string }>(
        'POST',
        '/apps/bench/uploads',
        body,
        'application/json',
      );
      const complete = async () =>
        (await call<{ url: string }>('POST', `/apps/bench/uploads/${data.uploadID}/complete`)).url;
      return { location: data.uploadLocation, complete };
    },
  };
  let names = 0;
  const bareSide: Side = {
    figures: [],
    create: async () => {
      const location = `http://127.0.0.1:${bare.port}/${(names += 1)}`;
      return { location, complete: async () => location };
    },
  };
  const before = await memoryMiB(service.pid);
  for (const side of [bareSide, serviceSide]) await measureSmall(side, agent, connections, signal);
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? [bareSide, serviceSide] : [serviceSide, bareSide]) {
      side.figures.push({
        ...(await measureLarge(side, agent, sizeMiB, signal)),
        ...(await measureSmall(side, agent, files, signal)),
      });
    }
  }
  console.log(`\n${render(bareSide.figures, serviceSide.figures, { sizeMiB, files })}`);
  console.log(
    `\nmemory of the service: ${show(before)} MiB before, ${show(await peakMemoryMiB(service.pid))} at most, ` +
      `${show(await memoryMiB(service.pid))} at the end`,
  );
}

async function measureLarge(
  side: Side,
  agent: Agent,
  sizeMiB: number,
  signal: AbortSignal,
): Promise<Pick<Figures, 'large' | 'back'>> {
  const { location, complete } = await side.create();
  await flushDisk();
  const sent = await timed(() => put(location, agent, sizeMiB, signal));
  const url = await complete();
  const got = await timed(() => get(url, agent, signal));
  if (got.result !== sizeMiB * 2 ** 20) throw new Error(`a file of ${sizeMiB} MiB came back with ${got.result} bytes`);
  return { large: sizeMiB / sent.seconds, back: sizeMiB / got.seconds };
}

async function measureSmall(
  side: Side,
  agent: Agent,
  files: number,
  signal: AbortSignal,
): Promise<Pick<Figures, 'small' | 'completions'>> {
  const created = await Promise.all(Array.from({ length: files }, () => side.create()));
  const left = created.values();
  const sendLeft = async (): Promise<void> => {
    for (const { location } of left) await put(location, agent, smallMiB, signal);
  };
  await flushDisk();
  const { seconds } = await timed(() => Promise.all(Array.from({ length: connections }, sendLeft)));
  const completions: number[] = [];
  for (const { complete } of created) completions.push((await timed(complete)).seconds * 1_000);
  return { small: (files * smallMiB) / seconds, completions };
}

/** Flushes the disk, so that writes of one measurement do not slow down the next. */
async function flushDisk(): Promise<void> {
  await promisify(execFile)('sync');
}

/** Sends a file of `sizeMiB`. Rejects unless the answer is 200. */
async function put(location: string, agent: Agent, sizeMiB: number, signal: AbortSignal): Promise<void> {
  const headers = { 'content-type': contentType, 'content-length': sizeMiB * 2 ** 20 };
  const sent = request(location, { method: 'PUT', agent, headers, signal });
  const answered = once(sent, 'response');
  await Promise.all([pipeline(Readable.from(Array.from({ length: sizeMiB }, () => mebibyte)), sent), answered]);
  await bytesOf((await answered)[0] as IncomingMessage, location);
}

async function get(url: string, agent: Agent, signal: AbortSignal): Promise<number> {
  const sent = request(url, { agent, signal }).end();
  const [answer] = await once(sent, 'response');
  return bytesOf(answer as IncomingMessage, url);
}

/** The number of bytes in an answer. Rejects unless it is a 200. */
async function bytesOf(answer: IncomingMessage, url: string): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer) bytes += (chunk as Buffer).length;
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode}`);
  return bytes;
}

function render(
  yardstick: readonly Figures[],
  service: readonly Figures[],
  { sizeMiB, files }: { readonly sizeMiB: number; readonly files: number },
): string {
  const line = (what: string, name: 'large' | 'back' | 'small'): string[] => {
    const [bare, own] = [yardstick, service].map((figures) => figures.map((figure) => figure[name])) as [
      number[],
      number[],
    ];
    return [what, show(median(bare)), show(median(own)), ...showRatio(own, bare)];
  };
  const completions = service.flatMap((figures) => figures.completions).toSorted((a, b) => a - b);
  const completion = (what: string, part: number): string[] => [
    `complete, ms, ${what}`,
    '',
    show(completions[Math.min(completions.length - 1, Math.floor(completions.length * part))]),
    '',
    '',
  ];
  return renderTable([
    ['MiB/s', 'yardstick', 'service', 'ratio', 'rounds'],
    line(`PUT of ${sizeMiB} MiB`, 'large'),
    line('GET of it', 'back'),
    line(`PUT of ${files} files of ${smallMiB} MiB, ${connections} connections`, 'small'),
    completion('median', 0.5),
    completion('p95', 0.95),
  ]);
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
