/**
 * Lets other processes go first: they get the processors when they need them, and the kernel ends this process before
 * them when there is no memory left.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Logger } from 'pino';

/**
 * Beside 1000, with which a process is always ended first, whatever its size: Kubernetes gives that to pods that are
 * the first to go.
 */
const outOfMemoryScore = '900';

/** The group of this process's session. Absent if the kernel does not group by session. */
const sessionGroup = '/proc/self/autogroup';

/**
 * Lowers the priority of all threads that there are; each later one inherits that of the thread that starts it.
 * `leadsSession`: whether the process leads a session of its own, so that the priority can be that of the session too.
 */
export function giveWay(niceness: number, leadsSession: boolean, logger: Logger): void {
  try {
    // Linux has a priority for each thread.
    const lowered = new Set<number>();
    for (
      let threads = threadsOfProcess();
      threads.length > 0;
      threads = threadsOfProcess().filter((thread) => !lowered.has(thread))
    ) {
      for (const thread of threads) {
        lower(thread, niceness);
        lowered.add(thread);
      }
    }
    // Linux shares processors between sessions first (sched(7), "The autogroup feature").
    if (leadsSession && existsSync(sessionGroup)) writeFileSync(sessionGroup, String(niceness));
    if (process.platform === 'linux') writeFileSync('/proc/self/oom_score_adj', outOfMemoryScore);
  } catch (error) {
    logger.warn({ err: error }, 'the query process could not lower its priority');
  }
}

/** On Linux, their IDs; elsewhere 0, which is the process. */
function threadsOfProcess(): number[] {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0];
}

function lower(thread: number, niceness: number): void {
  try {
    setPriority(thread, niceness);
  } catch (error) {
    // It has ended meanwhile.
    if ((error as { readonly info?: { readonly code?: string } }).info?.code !== 'ESRCH') throw error;
  }
}
