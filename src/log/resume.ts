/** Resumes a log of which a part was lost, or may have been: no version is given out a second time. */
import { randomUUID } from 'node:crypto';
import { encodeEvent } from '../events/event-codec.ts';
import type { RecordLog } from './event-log.ts';

/**
 * The base of a partition that resumes is at least the next multiple of this. A partition holds far fewer events, so that is also above
 * lost versions that this process never saw.
 */
const baseStep = 2n ** 32n;

/**
 * The base also depends on the time: if a log is restored from the same backup twice, what it was resumed with first is lost, and with it
 * the only trace of the versions that it gave out in between. The base grows by a step in 2048 seconds, so the versions reach 2^53 in the
 * year 2162; within these seconds bases are apart by more events than a partition takes in a second.
 */
const stepSeconds = 2048;
const secondStep = 2n ** 20n;
const timeBegins = Date.UTC(2026, 0, 1);

/** The base of a partition that resumes now (milliseconds since 1970), if any version below `version` may have been given out. */
export function resumedBase(version: bigint, now: number): bigint {
  const seconds = Math.max(0, Math.floor((now - timeBegins) / 1000));
  const steps = BigInt(Math.floor(seconds / stepSeconds));
  const aboveKnown = version / baseStep + 1n;
  return (steps > aboveKnown ? steps : aboveKnown) * baseStep + BigInt(seconds % stepSeconds) * secondStep;
}

/** The record that a partition resumes with. */
function encodeResumption(base: bigint): Uint8Array {
  const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
  return encodeEvent(envelope, { type: 'LogResumed', base }).bytes;
}

/**
 * Resumes all partitions. `versions`: for each, the version behind the last that may have been given out. Resolves to the base of each
 * partition.
 */
export async function resumeLog(log: Pick<RecordLog, 'appendRecord'>, versions: readonly bigint[]): Promise<bigint[]> {
  const now = Date.now();
  const bases = versions.map((version) => resumedBase(version, now));
  for (const [partition, base] of bases.entries()) await log.appendRecord(partition, encodeResumption(base));
  return bases;
}
