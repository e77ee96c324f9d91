/** Rows as clients send them: some that fit the tables of these tests, and some for each way not to fit. */
import Papa from 'papaparse';
import { packBody, type PackedBody } from '../../src/language/events/event-codec.ts';
import type { EventRows } from '../../src/language/events/row-source.ts';
import { joinRowBodies } from '../../src/language/events/row-bodies.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import { filePath } from '../../src/storage/files/file-name.ts';
import { DelimitedRowReader } from '../../src/language/formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../src/language/formats/json-row-reader.ts';
import { readPatchRow } from '../../src/language/formats/read-patch-row.ts';
import type { GivenColumn } from '../../src/language/values/table-schema.ts';
import type { Random } from '../support/random.ts';

/** The columns of tables that are created with a schema. */
export const givenColumns: readonly GivenColumn[] = [
  { id: 'name', type: 'string' },
  { id: 'n', displayName: 'Number', type: 'number' },
  { id: 'ok', type: 'boolean' },
  { id: 'tags', type: 'array<string>' },
  { id: 'day', type: 'date' },
];

/** Names of files for rows to name. */
export const sampleFiles: readonly string[] = Array.from(
  { length: 20 },
  (_, file) => `sample_file-${String(file).padStart(10, '0')}`,
);

const urlOf = (file: string): string => `https://files.example${filePath(file, 'a b.png')}`;

/** Rows that name a file. */
const pictures = {
  picture: (file: string) => `{"name":"${urlOf(file)}","n":1}`,
  escaped: (file: string) => `{"tags":["${urlOf(file).replaceAll('/', '\\/')}","x"],"name":"\\u0066iles"}`,
  markdown: (file: string) =>
    `{"name":"a ![picture](${urlOf(file).replace('/files', '/\\u0066iles')}) or none","ok":true}`,
};

export function pictureOf(random: Random, file: string): string {
  return random.pick(Object.values(pictures))(file);
}

/** Sample rows, each named for its peculiarity. Not all fit `givenColumns`. */
const samples = {
  plain: (r: Random) =>
    `{"name":"n${r.below(1e6)}","n":${r.below(1e4)},"ok":${r.chance(0.5)},"tags":["a","b${r.below(9)}"],"day":"2026-01-0${1 + r.below(9)}"}`,
  sparse: (r: Random) =>
    r.chance(0.5) ? `{"n":${r.below(100)}.50}` : `{"name":"İıŞ é 🙂 ${r.below(100)}","day":null}`,
  otherOrder: (r: Random) => `{ "tags": [], "n":${r.below(100)}, "name":"a\\nb\\u0041" }`,
  numberAsName: (r: Random) => `{"name":4.2${r.below(10)},"ok":false}`,
  textAsNumber: (r: Random) => `{"name":"t","n":"${r.below(100)} pieces"}`,
  flagAsNumber: () => `{"n":true}`,
  scalarAsTag: (r: Random) => `{"tags":"lonely${r.below(10)}","n":1}`,
  blankInDay: (r: Random) => `{"day":"2026-02-0${1 + r.below(9)} 10:00:00"}`,
  timeAsDay: (r: Random) => `{"day":"2026-02-0${1 + r.below(9)}T10:00:00Z"}`,
  textAsDay: (r: Random) => `{"day":"day ${r.below(9)}","ok":true}`,
  newColumn: (r: Random) => `{"name":"x","extra${r.below(6)}":${r.pick(['1', '"a"', '[1,2]', '{"k":[1]}', 'true'])}}`,
  picture: (r: Random) => pictures.picture(r.pick(sampleFiles)),
  escapedPicture: (r: Random) => pictures.escaped(r.pick(sampleFiles)),
  markdown: (r: Random) => pictures.markdown(r.pick(sampleFiles)),
  reserved: () => `{"$stashID":"a"}`,
  tooLargeNumber: () => `{"n":9007199254740993}`,
} as const;

type SampleName = keyof typeof samples;
export const sampleNames = Object.keys(samples) as SampleName[];
/** Samples that fit, and that read exactly as sent. */
const usual: readonly SampleName[] = ['plain', 'plain', 'plain', 'sparse'];

export interface SampleRows {
  readonly carried: EventRows;
  readonly body: PackedBody;
}

/** Sample rows, the last of this kind. `idOf` gives the ID with which a row comes, or null. */
export async function rowsOf(
  random: Random,
  count: number,
  last: SampleName,
  idOf: (row: number) => RowAddress | null = () => null,
): Promise<SampleRows> {
  const texts = Array.from({ length: count }, (_, row) => {
    const text = samples[row === count - 1 ? last : random.pick(usual)](random);
    const id = idOf(row);
    return id === null ? text : `{"$rowID":"${formatRowId(id)}",${text.slice(1)}`;
  });
  return packRows(texts, { isCsv: random.chance(0.25), dropsCells: random.chance(0.3) });
}

/** Packs rows, given as JSON texts, as an event carries them. They must fit into one block. */
export async function packRows(
  texts: readonly string[],
  { isCsv = false, dropsCells = false } = {},
): Promise<SampleRows> {
  // The API refuses a header with this column before anything is appended.
  const asCells = isCsv && !texts.some((text) => text.includes('"$stashID"'));
  const reader = asCells
    ? new DelimitedRowReader({ delimiter: ',', retainIds: true, dropsCells })
    : new JsonRowReader({ form: 'rows', retainIds: true, dropsCells });
  const blocks = [...reader.push(Buffer.from(asCells ? csvOf(texts) : `[${texts.join(',')}]`)), ...reader.end().blocks];
  if (blocks.length !== 1) throw new Error(`${texts.length} rows made ${blocks.length} blocks`);
  const { profile, ids } = blocks[0]!;
  return {
    carried: { profile, ...(ids === null ? {} : { ids: true }) },
    body: await packBody(joinRowBodies(blocks[0]!)),
  };
}

/** The same rows as CSV: strings as they are, all other values as JSON. */
function csvOf(texts: readonly string[]): string {
  const rows = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
  const ids = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown): string =>
    typeof value === 'string' ? value : (JSON.stringify(value ?? undefined) ?? '');
  return Papa.unparse([ids, ...rows.map((row) => ids.map((id) => cell(row[id])))], { quotes: true });
}

/** A patch of this kind. */
export async function samplePatch(random: Random, kind: SampleName | 'nothing'): Promise<SampleRows> {
  const text = kind === 'nothing' ? '{}' : samples[kind](random);
  const { block } = readPatchRow(Buffer.from(text), { dropsCells: random.chance(0.3) });
  return { carried: { profile: block.profile }, body: await packBody(block.body) };
}
