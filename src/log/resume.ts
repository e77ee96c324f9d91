/** Resumes a log that lost records, or may have lost some, so that no version is issued a second time. */
import { randomUUID } from 'node:crypto';
import { encodeEvent } from '../language/events/event-codec.ts';
import type { RecordLog } from './event-log.ts';

/** An upper bound of the lost versions of a partition that this process never saw. */
const unseenMax = 2n ** 32n;

/**
 * The base grows with time, by more than the versions that a partition issues in a second. So if a log is restored
 * twice from the same backup, the second resumption gets a higher base, although all traces of the first one, and of
 * the versions issued after it, are lost. The base reaches 2^53 in the year 2162.
 */
const perSecond = 2n ** 21n;
const timeBegins = Date.UTC(2026, 0, 1);

/**
 * If the base by time is not high enough, because the log was resumed shortly before, a multiple of this is added. It
 * corresponds to 18 hours.
 */
const cycle = 2n ** 37n;

/**
 * The base of a partition that resumes at `now` (milliseconds since 1970), if any version below `version` may have been
 * issued. For the same `version`, any two seconds within 18 hours give different bases.
 */
export function resumedBase(version: bigint, now: number): bigint {
  const byTime = BigInt(Math.max(0, Math.floor((now - timeBegins) / 1000))) * perSecond;
  const lacking = version + unseenMax - byTime;
  return lacking <= 0n ? byTime : byTime + ((lacking + cycle - 1n) / cycle) * cycle;
}

/** The record with which a partition resumes. */
function encodeResumption(base: bigint): Uint8Array {
  const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
  return encodeEvent(envelope, { type: 'LogResumed', base }).bytes;
}

/**
 * Resumes all partitions. `versions`: for each, the version after the last one that may have been issued. Resolves to
 * the base of each partition.
 */
export async function resumeLog(log: Pick<RecordLog, 'appendRecord'>, versions: readonly bigint[]): Promise<bigint[]> {
  const now = Date.now();
  const bases = versions.map((version) => resumedBase(version, now));
  for (const [partition, base] of bases.entries()) await log.appendRecord(partition, encodeResumption(base));
  return bases;
}
