/** `tablog` as an operator runs it on the machine of the service: on the service's data, in a folder. */
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { outputOf, runTablog, type TablogResult } from './tablog.ts';

/** Call these within tests. */
interface DataFolder {
  folder(): string;
  tablog(...args: readonly string[]): Promise<TablogResult>;
  /** Runs a command that must succeed. Resolves to its stdout. */
  output(...args: readonly string[]): Promise<string>;
}

/** A folder for all tests of a file, which is empty at first. */
export function useDataFolder(): DataFolder {
  let folder: string | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tablog-data-'));
  });
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });
  return {
    folder: () => folder!,
    tablog: (...args) => runTablog(args, { DATA_DIR: folder! }),
    output: (...args) => outputOf(args, { DATA_DIR: folder! }),
  };
}

/** Whether the Postgres of the data in this folder is running. */
export function isPostgresRunning(folder: string): Promise<boolean> {
  return access(join(folder, 'postgres', 'cluster', 'data', 'postmaster.pid')).then(
    () => true,
    () => false,
  );
}
