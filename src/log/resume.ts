/** Resumes a log of which a part was lost, or may have been: no version is given out a second time. */
import { randomUUID } from 'node:crypto';
import { encodeEvent } from '../events/event-codec.ts';
import type { RecordLog } from './event-log.ts';

/**
 * The base of a partition that resumes is a multiple of this. A partition holds far fewer events, so the next multiple is also above lost
 * versions that this process never saw. Versions stay below 2^53, which leaves room for two million resumptions.
 */
const baseStep = 2n ** 32n;

/** The base of a partition that resumes, if any version below `version` may have been given out: the next multiple of 2^32. */
export function resumedBase(version: bigint): bigint {
  return (version / baseStep + 1n) * baseStep;
}

/** The record that a partition resumes with, if any version below `version` may have been given out. */
export function encodeResumption(version: bigint): Uint8Array {
  const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
  return encodeEvent(envelope, { type: 'LogResumed', base: resumedBase(version) }).bytes;
}

/** Resumes all partitions. `versions`: for each, the version behind the last that may have been given out. */
export async function resumeLog(log: Pick<RecordLog, 'appendRecord'>, versions: readonly bigint[]): Promise<void> {
  for (const [partition, version] of versions.entries()) await log.appendRecord(partition, encodeResumption(version));
}
