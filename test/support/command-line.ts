/** `tablog import` and `tablog export` against a running service, through a proxy that injects faults. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { Client } from './client.ts';
import { writeContent } from './files.ts';
import { Relay } from './relay.ts';
import { startServer, type TestServer } from './server.ts';
import { runTablog, type RunningTablog } from './tablog.ts';

/** The output of `tablog import --json`. */
export interface Imported {
  readonly tableID: string;
  readonly name: string;
  readonly action: string;
  readonly rows: number;
  readonly version: string;
  readonly droppedCells?: number;
}

/** Call these within tests. */
interface CommandLine {
  /** A folder for files. It is also the home folder of the command, so that it reads no settings of the real user. */
  folder(): string;
  /** The proxy through which the commands send. It is reset before each test. */
  relay(): Relay;
  /** A client that bypasses the proxy. */
  client(): Client;
  tablog(args: readonly string[], stdin?: Readable): RunningTablog;
  /** Runs a command that must succeed; resolves to its stdout. */
  output(...args: readonly string[]): Promise<string>;
  /** Runs an import that must succeed. */
  imported(...args: readonly string[]): Promise<Imported>;
  /** Writes these lines to a file in the folder; resolves to its path. */
  fileOf(name: string, lines: readonly string[]): Promise<string>;
  /** Kills the service. Once `meanwhile` is done, starts it again on its port and data. */
  killServer(meanwhile: () => void): Promise<void>;
  /** The stash to which chunks were sent; undefined if there is none. */
  stashId(): string | undefined;
  /** The error message of an import of this stash. */
  stateOfStash(): Promise<string>;
}

/** A service and a proxy for all tests of a file. */
export function useCommandLine(): CommandLine {
  let server: TestServer | undefined;
  let relay: Relay | undefined;
  let client: Client | undefined;
  let folder: string | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tablog-import-'));
    server = await startServer({ folder: join(folder, 'data') });
    relay = await Relay.open(server.url);
    client = new Client(server.url, await server.token());
  });
  afterAll(async () => {
    await relay?.close();
    await server?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => relay!.reset());

  const line: CommandLine = {
    folder: () => folder!,
    relay: () => relay!,
    client: () => client!,
    tablog: (args, stdin) => {
      return runTablog(
        args,
        { TABLOG_URL: relay!.url, TABLOG_TOKEN: client!.token, XDG_CONFIG_HOME: folder! },
        [],
        stdin,
      );
    },
    output: async (...args) => {
      const result = await line.tablog(args);
      expect(result).toMatchObject({ code: 0 });
      return result.stdout;
    },
    imported: async (...args) => JSON.parse(await line.output('import', '--json', ...args)) as Imported,
    fileOf: (name, lines) => writeContent(join(folder!, name), `${lines.join('\n')}\n`),
    killServer: async (meanwhile) => {
      const port = Number(new URL(server!.url).port);
      await server!.stop('SIGKILL');
      meanwhile();
      server = await startServer({ folder: server!.folder, port });
    },
    stashId: () => relay!.passed.find(({ path }) => path.startsWith('/stashes/'))?.path.split('/')[2],
    stateOfStash: async () => {
      const { json } = await client!.post('/tables?name=x', { rows: { $stashID: line.stashId() } });
      return json.error.message;
    },
  };
  return line;
}
