/** Finds columns to which a file gave another type than expected, and the first cells that did not fit. */
import type { RowBlock } from '../../src/language/formats/block-writer.ts';
import { TextCells, type TextColumn } from '../../src/language/formats/text-cells.ts';
import { excerptOf } from '../../src/language/values/build-profile.ts';
import { classifyCell } from '../../src/language/values/cell-value.ts';
import {
  allTypes,
  isArrayType,
  itemKind,
  noTypes,
  typeBit,
  type ColumnType,
} from '../../src/language/values/column-type.ts';
import { decodeString } from '../../src/language/values/json-text.ts';
import { classify, type Classified } from '../../src/language/values/json-value.ts';
import { isAtMost } from '../../src/language/values/lattice.ts';
import { holdsCells } from '../../src/language/values/presentation.ts';
import { parseRow } from '../../src/language/values/row-text.ts';
import { cellFormOf } from '../../src/language/values/rule.ts';
import { lineOfRow } from './chunk.ts';
import { cutFile, cutterFor } from './cut-file.ts';
import type { PreviewOptions } from './preview.ts';
import { readChunk } from './read-chunk.ts';
import type { Source } from './source.ts';

/** A column, and its expected type after an import. */
export interface ExpectedColumn {
  readonly id: string;
  readonly type: ColumnType;
  /**
   * Whether the table had the column before the import. If not, the expected type is the one that the service would
   * infer from the first rows.
   */
  readonly isOfTable: boolean;
}

export interface WidenedColumn {
  readonly id: string;
  readonly expected: ColumnType;
  /** The type that the column has now. */
  readonly type: ColumnType;
  /** How many cells of the file do not fit the expected type; at least one. */
  readonly cells: number;
  readonly first: WidenedCell;
  /** The second and the third cell. */
  readonly next: readonly WidenedCell[];
  /** Options for CSV or TSV with which some of these cells would be values, or empty. Empty: nothing would help. */
  readonly help: TextColumn['help'];
}

interface WidenedCell {
  /** The line of the file in which the cell's row begins. */
  readonly line: number;
  /** The text of the cell, or its JSON; at most 60 characters. */
  readonly text: string;
}

const nextCells = 2;

export type Reading = Pick<PreviewOptions, 'format' | 'encoding' | 'form' | 'sheet' | 'signal'>;

/**
 * Reads the file again if a column has another type now. Returns columns in the order of `expected`, without columns
 * whose type others have changed.
 * @param open opens the file from its beginning
 * @param now the types of the table's columns by ID, after the import
 */
export async function findWidened(
  open: () => Source,
  { format, encoding, form, sheet, signal }: Reading,
  expected: readonly ExpectedColumn[],
  now: ReadonlyMap<string, ColumnType>,
): Promise<WidenedColumn[]> {
  const changed = new Map(
    expected.filter(({ id, type }) => now.has(id) && now.get(id) !== type).map((column) => [column.id, column]),
  );
  if (changed.size === 0) return [];
  const found = new Map<string, { cells: number; readonly first: WidenedCell; readonly next: WidenedCell[] }>();
  const texts = new TextCells();
  const cutter = cutterFor(format, { form, sheet });
  for await (const chunk of cutFile(open(), encoding, cutter, signal)) {
    let rowsBefore = 0;
    // The import has checked these rows already. It may have dropped cells.
    for (const block of readChunk(chunk, cutter, true, texts).blocks) {
      for (const { id, row, text } of misfitsOf(block, changed)) {
        const known = found.get(id);
        const isNext = known !== undefined && known.next.length < nextCells;
        const cell =
          known === undefined || isNext
            ? { line: lineOfRow(chunk.lines, rowsBefore + row), text: excerptOf(text) }
            : null;
        if (isNext) known.next.push(cell!);
        if (known === undefined) found.set(id, { cells: 1, first: cell!, next: [] });
        else known.cells += 1;
      }
      rowsBefore += block.profile.rows;
    }
  }
  const help = new Map(texts.take().map((column) => [column.id, column.help]));
  return [...changed.values()]
    .filter(({ id }) => found.has(id))
    .map(({ id, type }) => ({ id, expected: type, type: now.get(id)!, ...found.get(id)!, help: help.get(id) ?? {} }));
}

interface MisfitCell {
  readonly id: string;
  /** The row in its block, from 0. */
  readonly row: number;
  readonly text: string;
}

/** The cells that do not fit. Reads the cells only of blocks in which a column has such cells; few blocks do. */
function* misfitsOf({ profile, body }: RowBlock, changed: ReadonlyMap<string, ExpectedColumn>): Generator<MisfitCell> {
  const mayMisfit = profile.columns.some(({ id, natural, misfits }) => {
    const column = changed.get(id);
    return column !== undefined && (misfits.length > 0 || (natural !== null && !isAtMost(natural, column.type)));
  });
  if (!mayMisfit) return;
  const areCells = holdsCells(profile);
  for (const [row, text] of new TextDecoder().decode(body).split('\n').entries()) {
    for (const { id, token } of parseRow(text)) {
      const column = changed.get(id);
      if (column === undefined) continue;
      const shown = token.startsWith('"') ? decodeString(token) : token;
      if (!fits(areCells ? classifyCell(shown, allTypes, cellFormOf(profile.rule)) : classify(token, allTypes), column))
        yield { id, row, text: shown };
    }
  }
}

/**
 * Whether a column with this value could have the expected type. For a column of the table, the service widens its type
 * if a value does not fit. For a new column, it infers the type from the values.
 */
function fits(value: Classified, { type, isOfTable }: ExpectedColumn): boolean {
  if (!isOfTable) return value.natural === null || isAtMost(value.natural, type);
  return (value.fits & (typeBit(type) | (isArrayType(type) ? typeBit(itemKind(type)) : noTypes))) !== 0;
}
