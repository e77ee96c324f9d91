/**
 * The share of a disk that a team may take in a day, where several teams share a disk that the process sees: no more
 * than is left for all of them (docs/decisions/0055). So a team alone takes at most half of what was free, two teams
 * three quarters together, and the next one always finds some.
 */
import { formatByteSize } from '../../language/byte-size.ts';
import { profileOf } from '../../language/events/event-names.ts';
import type { EventData } from '../../language/events/event.ts';
import type { Refusal } from '../../language/values/refusal.ts';

/**
 * About what an event takes on the disk of the tables beside its record (measured: docs/decisions/0055): in bytes, and
 * in bytes for each byte and row of its rows.
 */
const eventBytes = 1024;
const rowBytesFactor = 1.2;
const rowBytes = 40;

/**
 * What the writes of a team took in a day, in bytes: of records in the log, of the disk of the tables (estimated), and
 * of the disk of the files.
 */
export interface TakenBytes {
  readonly log: number;
  readonly tables: number;
  readonly files: number;
}

/** A disk that teams share: what is on it, and how many bytes are left above the floor at which all writes stop. */
export interface DiskRoom {
  readonly hasTables: boolean;
  readonly hasFiles: boolean;
  readonly left: number;
}

/**
 * About how many bytes an event takes on the disk of the tables: its record, its rows, their indexes. `recordBytes`: of
 * its record. Pure.
 */
export function tableBytesOf(data: EventData, recordBytes: number): number {
  const profile = profileOf(data);
  return (
    recordBytes +
    eventBytes +
    (profile === null ? 0 : Math.ceil(profile.bytes * rowBytesFactor) + profile.rows * rowBytes)
  );
}

/**
 * Whether an event frees room, or belongs to a file that was counted when its bytes came. The share of a disk does not
 * refuse it. Pure.
 */
export function takesNoRoom({ type }: EventData): boolean {
  return type.endsWith('DeleteRequested') || type === 'UploadCompleteRequested';
}

/** Why a team that has taken so much in the day may take no more for its tables, or its files; null if it may. Pure. */
export function exceededShare(
  { tables, files }: TakenBytes,
  rooms: readonly DiskRoom[],
  what: 'tables' | 'files',
): Refusal | null {
  const room = rooms.find(({ hasTables, hasFiles }) => (what === 'tables' ? hasTables : hasFiles));
  if (room === undefined) return null;
  const taken = (room.hasTables ? tables : 0) + (room.hasFiles ? files : 0);
  if (taken <= room.left) return null;
  const [used, left] = [Math.ceil(taken / mebibyte), Math.floor(room.left / mebibyte)].map((size) =>
    formatByteSize(size * mebibyte),
  );
  return {
    type: 'limit_exceeded',
    message: `the team has taken about ${used} of the service's disk today, and ${left} are left for all teams: wait until the next day (UTC)`,
  };
}

const mebibyte = 2 ** 20;

/** Whether a refusal is one by `exceededShare`: metrics count by its words. */
export function isOfShare(message: string): boolean {
  return /^the team has taken about .* of the service's disk today, /.test(message);
}
