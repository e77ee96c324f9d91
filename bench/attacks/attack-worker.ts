/**
 * A thread that runs one load, so that it does not block the event loop of the measuring thread. Messages tell it when
 * to begin and when to end. After that it can begin again.
 */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { LoadRun, type Teams } from './attack.ts';
import { attacks } from './list.ts';

export interface LoadToRun {
  readonly attack: string;
  readonly isHarmful: boolean;
  readonly teams: Teams;
}

/** The result of a load. */
export type LoadResult = Pick<LoadRun, 'answers' | 'acceptedBytes'>;

const { attack, isHarmful, teams } = workerData as LoadToRun;
const port = parentPort!;
const load = await attacks.find(({ name }) => name === attack)!.prepare(teams, isHarmful);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
port.postMessage('prepared');
for (;;) {
  await once(port, 'message');
  const ending = new AbortController();
  const run = new LoadRun(ending.signal);
  const running = load(run);
  await once(port, 'message');
  ending.abort();
  await running;
  const { answers, acceptedBytes } = run;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
  port.postMessage({ answers, acceptedBytes } satisfies LoadResult);
}
