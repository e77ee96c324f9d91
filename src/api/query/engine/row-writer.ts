/**
 * Writes rows into a copy. The engine gets them as lines of text, and extracts the cells while the next rows are read.
 * Cells that only this process can convert (stored-type.ts) are passed beside the row.
 */
import type { CopiedRow } from '../../../../projections/tables/copied-rows.ts';
import type { ColumnType } from '../../../language/values/column-type.ts';
import { decodeString } from '../../../language/values/json-text.ts';
import { eachCell } from '../../../language/values/row-text.ts';
import { TimeSlices } from '../../../language/time-slices.ts';
import type { ColumnarChange } from './columnar.ts';
import { extracted, pointerTo } from './extracted.ts';
import { partTable, type Placed } from './parts.ts';
import type { StoredType } from './stored-type.ts';

/** The value of `until` for rows that have not ended. */
export const forever = 2n ** 63n - 1n;

/** How many bytes of bodies are written at once. */
const bytesAtOnce = 2 * 1024 * 1024;

/** Uncompressed: compression would halve the bytes on disk, but take a fifth of the processor time of a copy. */
const plainText = 'VARCHAR USING COMPRESSION uncompressed';

/** The columns of every copy. The first ones are passed with a row, in this order. */
const placeColumns = [
  'n BIGINT',
  '"version" BIGINT',
  '"ordinal" INTEGER',
  '"index" INTEGER',
  'row_version BIGINT',
  `row_id ${plainText}`,
] as const;
const fixedColumns = [...placeColumns, 'since BIGINT', 'until BIGINT', `body ${plainText}`] as const;

/** The key of the other parts. */
const keyColumns = ['n BIGINT', 'since BIGINT'] as const;

/** How many bytes of bodies are added between checks of the time. */
const bytesBetweenLooks = 4 * 1024;

const lineFeed = 0x0a;
/** The initial memory for lines, because most writes have few rows. */
const linesBytesAtFirst = 16 * 1024;
/** A UTF-16 code unit takes at most this many bytes in UTF-8. */
const bytesOfUnitMax = 3;

/** A column of a copy. */
export interface CopyColumn extends Placed {
  readonly id: string;
  /** Its name in the copy. */
  readonly sql: string;
  readonly type: ColumnType;
  readonly stored: StoredType;
}

/** A table of rows. */
export interface WrittenTable {
  readonly table: string;
  /** The columns of the table, in its order. */
  readonly columns: readonly CopyColumn[];
  /** The version from which on written rows are visible. */
  readonly since: bigint;
}

interface RowWriterOptions extends WrittenTable {
  readonly onProgress: () => Promise<void>;
}

/** The columns by part. The first part is always present, because it has the rows. */
export function byPart(columns: readonly CopyColumn[]): [part: number, columns: readonly CopyColumn[]][] {
  return [
    ...Map.groupBy(columns, ({ part }) => part).set(
      0,
      columns.filter(({ part }) => part === 0),
    ),
  ].toSorted(([a], [b]) => a - b);
}

/** The statements that create the tables for rows with these columns. */
export function createRows(table: string, columns: readonly CopyColumn[]): string[] {
  return byPart(columns).map(([part, ofPart]) => createPart(table, part, ofPart));
}

/** The statement that creates the table of a part. */
export function createPart(table: string, part: number, columns: readonly CopyColumn[]): string {
  const place = part === 0 ? fixedColumns : keyColumns;
  return `CREATE TABLE ${partTable(table, part)} (${[...place, ...columns.map(({ sql, stored }) => `${sql} ${stored.sql}`)].join(', ')})`;
}

/** Adds rows to a table of the engine. */
export class RowWriter {
  readonly #insert: (values: readonly Uint8Array[]) => Promise<void>;
  /** The columns whose cells this process converts. */
  readonly #prepared: readonly CopyColumn[];
  /**
   * The keys of these columns in a body, as most clients write them. Null: a cell may contain objects whose keys look
   * the same.
   */
  readonly #keys: readonly string[] | null;
  readonly #onProgress: () => Promise<void>;
  readonly #slices = new TimeSlices();
  readonly #beside = new Lines();
  readonly #bodies = new Lines();
  #writing: Promise<void> = Promise.resolve();
  /** How many bytes of bodies were added. */
  bytes = 0;
  /** Check the time again when this many bytes were added. */
  #lookAt = 0;

  private constructor(
    insert: (values: readonly Uint8Array[]) => Promise<void>,
    columns: readonly CopyColumn[],
    onProgress: () => Promise<void>,
  ) {
    this.#insert = insert;
    this.#prepared = columns.filter(isPrepared);
    this.#keys = columns.some(({ type }) => type === 'json' || type === 'array<json>')
      ? null
      : this.#prepared.map(({ id }) => `${JSON.stringify(id)}:"`);
    this.#onProgress = onProgress;
  }

  /**
   * Runs `work` with a writer for a table with these columns, in its order. Awaits `onProgress` after every few MiB.
   */
  static async use(
    change: ColumnarChange,
    { table, columns, since, onProgress }: RowWriterOptions,
    work: (writer: RowWriter) => Promise<void>,
  ): Promise<void> {
    const writer = new RowWriter(
      await change.prepare(byPart(columns).map(([part, ofPart]) => insertRows(table, part, ofPart, columns, since))),
      columns,
      onProgress,
    );
    try {
      await work(writer);
      await writer.#write();
    } finally {
      // Wait in any case: a busy connection cannot be closed.
      await writer.#writing;
    }
  }

  /** Adds a row with its number. */
  add({ version, ordinal, index, rowVersion, rowId, body }: CopiedRow, n: bigint): void {
    this.#beside.add(`[${n},${version},${ordinal},${index},${rowVersion},"${rowId}"${this.#prepare(body)}]`);
    this.#bodies.add(body);
    this.bytes += body.length;
  }

  /** Whether to await `giveWay` before the next row is added. */
  get isDue(): boolean {
    if (this.#bodies.bytes > bytesAtOnce) return true;
    // Reading the clock for each row would take longer than writing some rows.
    if (this.bytes < this.#lookAt) return false;
    this.#lookAt = this.bytes + bytesBetweenLooks;
    return this.#slices.isOver;
  }

  /**
   * If enough bytes were added, hands them to the engine, which writes them while the next rows are added. Lets other
   * work proceed.
   */
  async giveWay(): Promise<void> {
    if (this.#bodies.bytes > bytesAtOnce) {
      await this.#write();
      await this.#onProgress();
    }
    await this.#slices.next();
  }

  #prepare(body: string): string {
    if (this.#prepared.length === 0) return '';
    return (this.#keys && this.#prepareStrings(body, this.#keys)) ?? this.#prepareParsed(body);
  }

  /**
   * Prepares cells without parsing the whole body, which takes most of the time for rows of a few cells. Null if a cell
   * is missing or is not a plain string.
   */
  #prepareStrings(body: string, keys: readonly string[]): string | null {
    let text = '';
    for (const [at, key] of keys.entries()) {
      const keyStart = body.indexOf(key);
      const start = keyStart + key.length;
      const cell = body.slice(start, body.indexOf('"', start));
      // After a backslash this is the end of a longer key.
      if (keyStart < 0 || body[keyStart - 1] === '\\' || cell.includes('\\')) return null;
      text += `,${this.#prepared[at]!.stored.prepare!(cell)}`;
    }
    return text;
  }

  #prepareParsed(body: string): string {
    const texts = this.#prepared.map(() => 'null');
    eachCell(body, (key, token) => {
      const id = decodeString(key);
      const at = this.#prepared.findIndex((column) => column.id === id);
      if (at >= 0) texts[at] = this.#prepared[at]!.stored.prepare!(JSON.parse(token));
    });
    return `,${texts.join(',')}`;
  }

  async #write(): Promise<void> {
    await this.#writing;
    if (this.#bodies.bytes === 0) return;
    // The engine copies the bytes before the call returns.
    this.#writing = this.#insert([this.#beside.take(), this.#bodies.take()]);
    // Awaited before the next write, and at the end.
    this.#writing.catch(() => undefined);
  }
}

/** Collects lines of text in UTF-8. As strings, the garbage collector would move them while they wait. */
class Lines {
  #bytes = Buffer.allocUnsafeSlow(linesBytesAtFirst);
  #length = 0;

  get bytes(): number {
    return this.#length;
  }

  add(line: string): void {
    const needed = this.#length + 1 + line.length * bytesOfUnitMax;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 4));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    if (this.#length > 0) this.#bytes[this.#length++] = lineFeed;
    this.#length += this.#bytes.write(line, this.#length);
  }

  /** The added lines. They are valid until more are added. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }
}

/**
 * The statement that inserts rows into a part. `$1` has the values beside the rows, a JSON array for each line; `$2`
 * has the bodies. `columns` are the columns of the part, `all` those of all parts.
 */
function insertRows(
  table: string,
  part: number,
  columns: readonly CopyColumn[],
  all: readonly CopyColumn[],
  since: bigint,
): string {
  const prepared = all.filter(isPrepared);
  const own = columns.filter((column) => !isPrepared(column));
  const places = placeColumns.map((column, at) => `CAST(beside[${at + 1}] AS ${column.split(' ')[1]})`);
  const cells = columns.map((column) => {
    const { stored } = column;
    return stored.read(
      !isPrepared(column)
        ? `cells[${own.indexOf(column) + 1}]`
        : `beside[${placeColumns.length + prepared.indexOf(column) + 1}]`,
    );
  });
  const pathsBeside = [...placeColumns, ...prepared].map((_, at) => `/${at}`);
  const paths = own.map(({ id }) => pointerTo(id));
  const place = part === 0 ? [...places, since, forever, 'body'] : [places[0], since];
  return `INSERT INTO ${partTable(table, part)} SELECT ${[...place, ...cells].join(', ')}
    FROM (
      SELECT body, ${extracted('beside', pathsBeside)} AS beside, ${extracted('body', paths)} AS cells
      FROM (
        SELECT unnest(string_split(decode($1), chr(10))) AS beside, unnest(string_split(decode($2), chr(10))) AS body
      )
    )`;
}

function isPrepared({ stored }: CopyColumn): boolean {
  return stored.prepare !== null;
}
