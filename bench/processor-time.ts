/**
 * The processor time, user and system, that a side of a measurement takes: of its own processes, and of Postgres with all of its backends.
 * A machine on which other things run changes it less than it changes times. Read from `/proc`, so there is none where there is no Linux.
 */
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

/** In seconds. */
export interface ProcessorTime {
  readonly own: number;
  /** Undefined where Postgres runs elsewhere. */
  readonly postgres: number | undefined;
}

/** Of `/proc`, on every Linux that Node runs on. */
const ticksPerSecond = 100;

interface Stat {
  readonly parent: number;
  /** In ticks; `waited` is that of children that have ended. */
  readonly taken: number;
  readonly waited: number;
}

/** Null for a process that is not there. */
async function statOf(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null);
  if (text === null) return null;
  // The name of the process stands in brackets, and may hold blanks: `12 (postgres: a b) S 7 ...`.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ').map(Number);
  return { parent: fields[1]!, taken: fields[11]! + fields[12]!, waited: fields[13]! + fields[14]! };
}

/** The process of Postgres that all of its backends are children of; undefined where that is none of this machine. */
export async function findPostmaster(databaseUrl: string): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows: [backend] } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const name = await readFile(`/proc/${backend!.pid}/cmdline`, 'latin1').catch(() => '');
    return name.startsWith('postgres') ? (await statOf(backend!.pid))?.parent : undefined;
  } finally {
    await client.end();
  }
}

/** What these processes, and Postgres, have taken until now. */
export async function processorTime(pids: readonly number[], postmaster: number | undefined): Promise<ProcessorTime | undefined> {
  if (process.platform !== 'linux') return undefined;
  const own = await Promise.all(pids.map(statOf));
  const seconds = (ticks: number): number => ticks / ticksPerSecond;
  return {
    own: seconds(own.reduce((sum, stat) => sum + (stat?.taken ?? 0), 0)),
    postgres: postmaster === undefined ? undefined : seconds(await ticksOfTree(postmaster)),
  };
}

/** Of a process and its children, those that have ended too. */
async function ticksOfTree(root: number): Promise<number> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const stats = await Promise.all(pids.map(async (pid) => ({ pid, stat: await statOf(pid) })));
  return stats.reduce((sum, { pid, stat }) => {
    if (stat === null) return sum;
    if (pid === root) return sum + stat.taken + stat.waited;
    return stat.parent === root ? sum + stat.taken : sum;
  }, 0);
}
