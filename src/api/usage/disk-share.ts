/**
 * The share of a disk that a team may take in a day, if several teams share a disk that the process can see: no more
 * than is left for all of them (docs/decisions/0055). So one team takes at most half of the free space, two teams
 * together three quarters, and the next team always finds some space.
 */
import { formatByteSize } from '../../language/byte-size.ts';
import { profileOf } from '../../language/events/event-names.ts';
import type { EventData } from '../../language/events/event.ts';
import type { Refusal } from '../../language/values/refusal.ts';

/**
 * The approximate space of an event on the disk of the tables in addition to its record (measured:
 * docs/decisions/0055): `eventBytes`, a factor for the bytes of its rows, and bytes for each row.
 */
const eventBytes = 1024;
const rowBytesFactor = 1.2;
const rowBytes = 40;

/**
 * The bytes that the writes of a team took in a day: in the log, on the disk of the tables (estimated), and on the disk
 * of the files.
 */
export interface TakenBytes {
  readonly log: number;
  readonly tables: number;
  readonly files: number;
}

/** A disk that teams share: its contents, and the bytes left above the floor at which all writes stop. */
export interface DiskRoom {
  readonly hasTables: boolean;
  readonly hasFiles: boolean;
  readonly left: number;
}

/**
 * The approximate bytes of an event on the disk of the tables: its record (`recordBytes`), its rows, and their indexes.
 * Pure.
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
 * Whether an event frees space, or belongs to a file that was counted when its bytes arrived. Such an event is never
 * refused because of the share. Pure.
 */
export function takesNoRoom(data: EventData): boolean {
  if (data.type === 'TableBatchRequested') return data.operations.every(({ op }) => op === 'delete');
  return data.type.endsWith('DeleteRequested') || data.type === 'UploadCompleteRequested';
}

/**
 * The refusal if a team has taken its share for the day, for its tables or its files; null if it may take more. Pure.
 */
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

/** Whether a refusal comes from `exceededShare`. Metrics recognize it by its message. */
export function isOfShare(message: string): boolean {
  return /^the team has taken about .* of the service's disk today, /.test(message);
}
