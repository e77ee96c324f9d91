/** Resumes a log of which a part was lost, or may have been: no version is given out a second time. */
import { randomUUID } from 'node:crypto';
import { encodeEvent } from '../language/events/event-codec.ts';
import type { RecordLog } from './event-log.ts';

/** More than a partition can have lost of versions that this process never saw. */
const unseenMax = 2n ** 32n;

/**
 * The base grows with time, by more than a partition gives out in a second: if a log is restored from the same backup
 * twice, what it was resumed with first is lost, and with it the only trace of the versions that were given out in
 * between. It reaches 2^53 in the year 2162.
 */
const perSecond = 2n ** 21n;
const timeBegins = Date.UTC(2026, 0, 1);

/**
 * If that is not high enough, because the log was resumed just before, the base is higher by a multiple of this: 18
 * hours of it.
 */
const cycle = 2n ** 37n;

/**
 * The base of a partition that resumes now (milliseconds since 1970), if any version below `version` may have been
 * given out. For the same `version`, no two seconds of 18 hours have the same.
 */
export function resumedBase(version: bigint, now: number): bigint {
  const byTime = BigInt(Math.max(0, Math.floor((now - timeBegins) / 1000))) * perSecond;
  const lacking = version + unseenMax - byTime;
  return lacking <= 0n ? byTime : byTime + ((lacking + cycle - 1n) / cycle) * cycle;
}

/** The record that a partition resumes with. */
function encodeResumption(base: bigint): Uint8Array {
  const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
  return encodeEvent(envelope, { type: 'LogResumed', base }).bytes;
}

/**
 * Resumes all partitions. `versions`: for each, the version behind the last that may have been given out. Resolves to
 * the base of each partition.
 */
export async function resumeLog(log: Pick<RecordLog, 'appendRecord'>, versions: readonly bigint[]): Promise<bigint[]> {
  const now = Date.now();
  const bases = versions.map((version) => resumedBase(version, now));
  for (const [partition, base] of bases.entries()) await log.appendRecord(partition, encodeResumption(base));
  return bases;
}
