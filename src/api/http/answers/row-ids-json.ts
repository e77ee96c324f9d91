/** Row IDs as JSON: of a few rows, or of millions. */
import { Readable } from 'node:stream';
import { countRowsOf, type RetainingRange, type RowRange } from '../../../language/events/outcome.ts';
import { rowIdPrefix, writeRowIdSuffix } from '../../../language/events/row-id.ts';

/** An ID is 22 characters, plus quotes and a comma. */
const idLength = 22;
const idBytes = idLength + 3;
const quote = 34;
const idsAtOnce = 4096;
/** Up to this many IDs the whole text is built in memory. */
const wholeIdsMax = 20_000;

/** The retained row IDs of a range, by index; all other rows have the IDs of their places. */
export type FindRetainedIds = (range: RetainingRange) => Promise<ReadonlyMap<number, string>>;

/**
 * `before`, the IDs as a JSON array in input order (spec section 1, rule 3), and `after`. A long list is a stream,
 * which reads the IDs as it is sent, to save memory.
 */
export async function encloseRowIds(
  before: string,
  ranges: readonly RowRange[],
  after: string,
  findRetainedIds: FindRetainedIds,
): Promise<Buffer | Readable> {
  const count = countRowsOf(ranges);
  const chunks = enclosed(before, ranges, after, findRetainedIds);
  return count > wholeIdsMax
    ? Readable.from(chunks, { objectMode: false })
    : Buffer.concat(await Array.fromAsync(chunks));
}

async function* enclosed(
  before: string,
  ranges: readonly RowRange[],
  after: string,
  findRetainedIds: FindRetainedIds,
): AsyncGenerator<Buffer, void, undefined> {
  yield Buffer.from(`${before}[`);
  let isFirst = true;
  for (const range of eachExtent(ranges)) {
    const { version, ordinal, first, count } = range;
    const prefix = Buffer.from(`,"${rowIdPrefix(version, ordinal)}`);
    const retained =
      range.retainedIn === undefined ? null : await findRetainedIds({ ...range, retainedIn: range.retainedIn });
    const end = first + count;
    for (let start = first; start < end; start += idsAtOnce) {
      const ids = idsOf(prefix, start, Math.min(idsAtOnce, end - start));
      if (retained !== null) putRetained(ids, start, retained);
      yield isFirst ? ids.subarray(1) : ids;
      isFirst = false;
    }
  }
  yield Buffer.from(`]${after}`);
}

function* eachExtent(ranges: readonly RowRange[]): Generator<RowRange, void, undefined> {
  for (const { extents = 1, ...range } of ranges) {
    for (let extent = 0; extent < extents; extent += 1) yield { ...range, ordinal: range.ordinal + extent };
  }
}

/** IDs, each preceded by a comma. */
function idsOf(prefix: Buffer, start: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count * idBytes);
  let at = 0;
  for (let index = start; index < start + count; index += 1) {
    bytes.set(prefix, at);
    at = writeRowIdSuffix(bytes, at + prefix.length, index);
    bytes[at] = quote;
    at += 1;
  }
  return bytes;
}

/** Overwrites the IDs that places give with the retained IDs. */
function putRetained(ids: Buffer, start: number, retained: ReadonlyMap<number, string>): void {
  for (let at = 0; at < ids.length; at += idBytes) {
    const id = retained.get(start + at / idBytes);
    if (id !== undefined) ids.write(id, at + 2, idLength, 'latin1');
  }
}
