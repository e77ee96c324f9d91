/**
 * The processor time, user and system, of a side of a measurement: of its own processes, and of Postgres with all of
 * its backends. Other load on the machine affects it less than it affects durations. Read from `/proc`, so it exists on
 * Linux only.
 */
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

/** In seconds. */
interface ProcessorTime {
  readonly own: number;
  /** Undefined if Postgres runs on another machine. */
  readonly postgres: number | undefined;
}

/** The unit of `/proc`, on every Linux that Node runs on. */
const ticksPerSecond = 100;

interface Stat {
  readonly parent: number;
  /** In ticks; `waited` is the time of children that have ended. */
  readonly taken: number;
  readonly waited: number;
}

/** Null if there is no such process. */
async function statOf(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null);
  if (text === null) return null;
  // The process name is in parentheses and may contain spaces: `12 (postgres: a b) S 7 ...`.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  return { parent: fields[1]!, taken: fields[11]! + fields[12]!, waited: fields[13]! + fields[14]! };
}

/** The parent process of all Postgres backends; undefined if it is not on this machine. */
export async function findPostmaster(databaseUrl: string): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const {
      rows: [backend],
    } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const name = await readFile(`/proc/${backend!.pid}/cmdline`, 'latin1').catch(() => '');
    return name.startsWith('postgres') ? (await statOf(backend!.pid))?.parent : undefined;
  } finally {
    await client.end();
  }
}

/** The processor time of these processes, and of Postgres, so far. */
export async function processorTime(
  pids: readonly number[],
  postmaster: number | undefined,
): Promise<ProcessorTime | undefined> {
  if (process.platform !== 'linux') return undefined;
  const own = await Promise.all(pids.map(statOf));
  const seconds = (ticks: number): number => ticks / ticksPerSecond;
  return {
    own: seconds(own.reduce((sum, stat) => sum + (stat?.taken ?? 0), 0)),
    postgres: postmaster === undefined ? undefined : seconds(await ticksOfTree(postmaster)),
  };
}

/** The ticks of a process and of its children, including those that have ended. */
async function ticksOfTree(root: number): Promise<number> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const stats = await Promise.all(pids.map(async (pid) => ({ pid, stat: await statOf(pid) })));
  return stats.reduce((sum, { pid, stat }) => {
    if (stat === null) return sum;
    if (pid === root) return sum + stat.taken + stat.waited;
    return stat.parent === root ? sum + stat.taken : sum;
  }, 0);
}
