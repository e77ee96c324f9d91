/** Lets other processes go first: they get the processors when they need them, and the kernel ends this process before them when there is no memory left. */
import { readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Logger } from 'pino';

/** Beside 1000, with which a process is always ended first, whatever its size: Kubernetes gives that to pods that are the first to go. */
const outOfMemoryScore = '900';

/** To be called before threads begin that it does not know: each inherits the priority of the one that starts it. */
export function giveWay(niceness: number, logger: Logger): void {
  try {
    // Linux has a priority for each thread.
    const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0];
    for (const thread of threads) setPriority(thread, niceness);
    if (process.platform === 'linux') writeFileSync('/proc/self/oom_score_adj', outOfMemoryScore);
  } catch (error) {
    logger.warn({ err: error }, 'the query process could not lower its priority');
  }
}
