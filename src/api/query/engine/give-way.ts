/**
 * Gives other processes precedence: they get the processors when they need them, and when memory runs out the kernel
 * ends this process first.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Logger } from 'pino';

/**
 * Slightly below 1000, with which a process is always ended first: Kubernetes gives 1000 to pods that are to be ended
 * first.
 */
const outOfMemoryScore = '900';

/** The scheduling group of this process's session. Absent if the kernel does not group by session. */
const sessionGroup = '/proc/self/autogroup';

/**
 * Lowers the priority of all present threads; a later thread inherits the priority of the thread that starts it.
 * `leadsSession`: whether the process leads its own session; then the session gets the priority, too.
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

/** The IDs of the threads on Linux; elsewhere 0, which means the process. */
function threadsOfProcess(): number[] {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0];
}

function lower(thread: number, niceness: number): void {
  try {
    setPriority(thread, niceness);
  } catch (error) {
    // The thread may have ended meanwhile.
    if ((error as { readonly info?: { readonly code?: string } }).info?.code !== 'ESRCH') throw error;
  }
}
