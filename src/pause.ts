import { setTimeout as sleep } from 'node:timers/promises';

/** Waits so many milliseconds, but not beyond the end of what is being done. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
