/** A thread that loads a table through a stash, so that it does not block the event loop of the measuring thread. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Target } from './requests.ts';
import { loadStash, makeChunkBodies, type StashLoad } from './stash-load.ts';

const { target, load } = workerData as { target: Target; load: StashLoad };
const loaded = await loadStash(target, makeChunkBodies(), load, new AbortController().signal);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
parentPort!.postMessage(loaded);
