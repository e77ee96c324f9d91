/** A thread that runs one load, so that it does not block the event loop of the measuring thread. It is told when to begin, and when to end. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { Target } from '../requests.ts';
import { LoadRun } from './attack.ts';
import { attacks } from './list.ts';

export interface LoadToRun {
  readonly attack: string;
  readonly isHarmful: boolean;
  readonly target: Target;
}

/** What a load came to. */
export type LoadResult = Pick<LoadRun, 'answers' | 'acceptedBytes'>;

const { attack, isHarmful, target } = workerData as LoadToRun;
const port = parentPort!;
const load = await attacks.find(({ name }) => name === attack)!.prepare(target, isHarmful);
const ending = new AbortController();
const run = new LoadRun(ending.signal);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
port.postMessage('prepared');
await once(port, 'message');
const running = load(run);
await once(port, 'message');
ending.abort();
await running;
const { answers, acceptedBytes } = run;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
port.postMessage({ answers, acceptedBytes } satisfies LoadResult);
port.close();
