/** Columns that are text because of some cells, though the others are numbers, dates or the like; and the forms that would help if a person named them. */
import type { RowBlock } from '../../src/formats/block-writer.ts';
import { dateFormats, type DelimitedForm } from '../../src/formats/delimited-form.ts';
import { excerptOf } from '../../src/values/build-profile.ts';
import { classifyCell, fitCell } from '../../src/values/cell-value.ts';
import { noTypes, type ColumnType } from '../../src/values/column-type.ts';
import { decodeString } from '../../src/values/json-text.ts';
import { holdsCells } from '../../src/values/presentation.ts';
import { parseRow } from '../../src/values/row-text.ts';
import { cellFormOf, type CellForm } from '../../src/values/rule.ts';
import { lineOfRow, type Chunk } from './chunk.ts';

const kinds = ['number', 'boolean', 'date', 'dateTime'] as const satisfies readonly ColumnType[];
type Kind = (typeof kinds)[number];

export interface TextColumn {
  readonly id: string;
  /** The type that the other cells have, or would have in another form. */
  readonly almost: Kind;
  /** How many cells of the column are not empty. */
  readonly cells: number;
  /** How many of them are not of that type. */
  readonly misfits: number;
  /** The first three of these. */
  readonly first: readonly {
    /** The line of the file in which its row begins. */
    readonly line: number;
    /** At most 60 characters. */
    readonly text: string;
  }[];
  /** Each would give the column that type. More than one if the cells can be read in several ways. */
  readonly remedies: readonly Remedy[];
}

/** What a person can say of a file besides what was said. */
export interface Remedy {
  readonly form: Pick<DelimitedForm, 'null' | 'decimal' | 'dateFormat'>;
  /** A cell, and what it would be; null if cells are only emptied. */
  readonly example: { readonly text: string; readonly becomes: string } | null;
}

const firstMax = 3;
/** If of so many cells less than half are of one type, those behind them are not looked at. */
const sampleCells = 100;
/** Texts that stand for a missing value in many files. */
const missing = /^(?:n\/?a|#n\/a|nan|null|nil|none|missing|unknown|-+|\?+|\.+|\\n)$/i;
/** Other texts may do so if there are few of them, and they have no digits. */
const otherTexts = { distinct: 3, characters: 12 };

interface Cell {
  readonly line: number;
  readonly text: string;
}

/** Cells read in some form: of which type most of them are, and which are not. */
interface Reading {
  readonly form: CellForm;
  readonly kind: Kind;
  readonly misfits: readonly Cell[];
}

/**
 * Those of the columns that are text because of at most half of their cells, or would not be in another form.
 * @param ids columns whose type is inferred, and is `string`
 */
export function findTextColumns(chunk: Chunk, blocks: readonly RowBlock[], ids: ReadonlySet<string>): TextColumn[] {
  const [block] = blocks;
  if (ids.size === 0 || block === undefined || !holdsCells(block.profile)) return [];
  const present = cellFormOf(block.profile.rule);
  return [...cellsByColumn(chunk, blocks, ids)].flatMap(([id, cells]) => describe(id, cells, present) ?? []);
}

function cellsByColumn(chunk: Chunk, blocks: readonly RowBlock[], ids: ReadonlySet<string>): Map<string, Cell[]> {
  const columns = new Map<string, Cell[]>([...ids].map((id) => [id, []]));
  let rowsBefore = 0;
  for (const { profile, body } of blocks) {
    const rows = profile.rows === 0 ? [] : new TextDecoder().decode(body).split('\n');
    for (const [row, text] of rows.entries()) {
      for (const { id, token } of parseRow(text)) {
        columns.get(id)?.push({ line: lineOfRow(chunk.lines, rowsBefore + row), text: token.startsWith('"') ? decodeString(token) : token });
      }
    }
    rowsBefore += profile.rows;
  }
  return columns;
}

function describe(id: string, cells: readonly Cell[], present: CellForm): TextColumn | null {
  const now = read(cells, present);
  const others = otherFormsThan(present).flatMap((form) => read(cells, form) ?? []);
  const least = Math.min(...others.map(({ misfits }) => misfits.length));
  const better = others.filter(({ misfits }) => misfits.length === least && (now === null || least < now.misfits.length));
  const best = better[0] ?? now;
  if (best === null) return null;
  const misfits = cells.filter(({ text }) => !fits(text, best.kind, present));
  const remedies = (better.length > 0 ? better : [best]).flatMap((reading) => remedyOf(reading, cells, present) ?? []);
  return { id, almost: best.kind, cells: cells.length, misfits: misfits.length, first: misfits.slice(0, firstMax).map(({ line, text }) => ({ line, text: excerptOf(text) })), remedies };
}

/** The forms that a person can name besides what was said. */
function otherFormsThan(present: CellForm): CellForm[] {
  return [
    ...(present.numbers === 'plain' ? ([',', '.'] as const).map((numbers) => ({ ...present, numbers })) : []),
    ...(present.dateFormat === null ? dateFormats.map((dateFormat) => ({ ...present, dateFormat })) : []),
  ];
}

/** Null if less than half of the cells are of one type. */
function read(cells: readonly Cell[], form: CellForm): Reading | null {
  const sample = mostFrequent(cells.slice(0, sampleCells), form);
  if (sample === null) return null;
  const kind = cells.length > sampleCells ? mostFrequent(cells, form) : sample;
  return kind === null ? null : { form, kind, misfits: cells.filter(({ text }) => !fits(text, kind, form)) };
}

function mostFrequent(cells: readonly Cell[], form: CellForm): Kind | null {
  const counts = new Map<Kind, number>();
  for (const { text } of cells) {
    const kind = kindOf(text, form);
    if (kind !== null) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  // A date is a moment too.
  const moments = counts.get('dateTime');
  if (moments !== undefined) counts.set('dateTime', moments + (counts.get('date') ?? 0));
  const [kind, count] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? [null, 0];
  return 2 * count >= cells.length ? kind : null;
}

function kindOf(text: string, form: CellForm): Kind | null {
  const { natural } = classifyCell(text, noTypes, form);
  return kinds.find((kind) => kind === natural) ?? null;
}

function fits(text: string, kind: Kind, form: CellForm): boolean {
  const found = kindOf(text, form);
  return found === kind || (found === 'date' && kind === 'dateTime');
}

/** Null if the column would be text all the same. */
function remedyOf({ form, kind, misfits }: Reading, cells: readonly Cell[], present: CellForm): Remedy | null {
  const nulls = [...new Set(misfits.map(({ text }) => text))];
  if (!canBeNull(nulls)) return null;
  const read = cells.filter(({ text }) => fits(text, kind, form) && !fits(text, kind, present)).map(({ text }) => text);
  // One that shows the decimal mark.
  const shown = read.find((text) => form.numbers !== 'plain' && text.includes(form.numbers)) ?? read[0];
  return {
    form: {
      ...(form.numbers !== present.numbers && { decimal: form.numbers as ',' | '.' }), ...(form.dateFormat !== present.dateFormat && form.dateFormat !== null && { dateFormat: form.dateFormat }),
      ...(nulls.length > 0 && { null: nulls }),
    },
    example: shown === undefined ? null : { text: shown, becomes: textOf(fitCell(shown, kind, false, form)!) },
  };
}

/** Whether these texts may all mean that a cell is empty. Commas separate them where a person names them. */
function canBeNull(texts: readonly string[]): boolean {
  const { distinct, characters } = otherTexts;
  return texts.every((text) => missing.test(text)) || (texts.length <= distinct && texts.every((text) => missing.test(text) || (text.length <= characters && !/[\d,]/.test(text) && text.trim() === text)));
}

function textOf(token: string): string {
  return token.startsWith('"') ? decodeString(token) : token;
}
