/**
 * Which rows of an extent have retained row IDs of earlier generations: runs of indexes in order, 8 bytes each. The IDs
 * of all other rows follow from their places. So once the rows of an extent are removed, only these runs must be kept.
 */
import { rowsOfRuns, runBytes as idRunBytes } from '../../src/language/events/row-id-runs.ts';

const runBytes = 8;

/** The retained places of rows whose IDs have these runs (findRowIdRuns). Null if no row has an ID. */
export function retainedPlacesOf(ids: Uint8Array | null): Uint8Array | null {
  if (ids === null || ids.length === 0) return null;
  const places = Buffer.alloc((ids.length / idRunBytes) * runBytes);
  let length = 0;
  for (const { row, count } of rowsOfRuns(ids)) {
    const last = length - runBytes;
    if (last >= 0 && places.readUInt32BE(last) + places.readUInt32BE(last + 4) === row) {
      places.writeUInt32BE(places.readUInt32BE(last + 4) + count, last + 4);
      continue;
    }
    places.writeUInt32BE(row, length);
    places.writeUInt32BE(count, length + 4);
    length += runBytes;
  }
  return places.subarray(0, length);
}

/** The first of the `count` indexes from `first` on whose row has a retained ID; null if there is none. */
export function findRetainedPlace(retained: Uint8Array | null, first: number, count: number): number | null {
  if (retained === null) return null;
  const places = Buffer.from(retained.buffer, retained.byteOffset, retained.byteLength);
  // The first run that does not end before `first`.
  let low = 0;
  let high = places.length / runBytes;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (places.readUInt32BE(middle * runBytes) + places.readUInt32BE(middle * runBytes + 4) <= first) low = middle + 1;
    else high = middle;
  }
  if (low * runBytes >= places.length) return null;
  const place = Math.max(first, places.readUInt32BE(low * runBytes));
  return place < first + count ? place : null;
}
