/** Reads the sheets of a workbook, its formats, and the texts that its cells share. */
import { MalformedFile } from '../malformed-file.ts';
import type { Archive } from './archive.ts';
import { momentFormatOf, type Epoch, type MomentFormat } from './moments.ts';
import { attributeOf, readWholeXml, TextOfRuns, type Attributes, type XmlVisitor } from './read-xml.ts';

export interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  /** The part with the rows of the sheet; null if the workbook does not name it. */
  readonly part: string | null;
}

export interface Workbook {
  readonly sheets: readonly Sheet[];
  readonly epoch: Epoch;
  /** The formats, by the number with which cells refer to them. */
  readonly formats: readonly (MomentFormat | null)[];
  readonly texts: readonly string[];
}

const sheetsMax = 10_000;

interface Relation {
  /** The last segment of its type, such as `worksheet`. */
  readonly kind: string;
  readonly part: string;
}

/** Throws MalformedFile, and the reason of the signal. */
export async function readWorkbook(archive: Archive, signal: AbortSignal): Promise<Workbook> {
  const main =
    [...(await relationsOf(archive, '', signal)).values()].find(({ kind }) => kind === 'officeDocument')?.part ??
    'xl/workbook.xml';
  if (!archive.has(main)) throw new MalformedFile(null, 'this is a zip archive, but no workbook (.xlsx)');
  const relations = await relationsOf(archive, main, signal);
  const { listed, epoch } = await readMain(archive, main, signal);
  const sheets = listed.flatMap(({ name, id, isHidden }): Sheet[] => {
    const relation = relations.get(id);
    if (relation === undefined) return [{ name, isHidden, part: null }];
    // A chart may have a sheet of its own.
    return relation.kind === 'worksheet' ? [{ name, isHidden, part: relation.part }] : [];
  });
  const partOf = (kind: string): string | null =>
    [...relations.values()].find((relation) => relation.kind === kind && archive.has(relation.part))?.part ?? null;
  const [styles, shared] = [partOf('styles'), partOf('sharedStrings')];
  return {
    sheets,
    epoch,
    formats: styles === null ? [] : await readFormats(archive, styles, signal),
    texts: shared === null ? [] : await readTexts(archive, shared, signal),
  };
}

/** The relations of a part by ID. `part`: empty for the archive itself. */
async function relationsOf(
  archive: Archive,
  part: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Relation>> {
  const at = part.lastIndexOf('/') + 1;
  const [folder, file] = [part.slice(0, at), part.slice(at)];
  const name = `${folder}_rels/${file}.rels`;
  const relations = new Map<string, Relation>();
  if (!archive.has(name)) return relations;
  await readWholeXml(
    archive.text(name, 'other', signal),
    name,
    opened((tag, { Id: id, Type: type, Target: target, TargetMode: mode }) => {
      if (tag !== 'Relationship' || id === undefined || type === undefined || target === undefined) return;
      const base = `zip://part/${folder}`;
      // A target that is no URL, or is outside of the archive, is no part.
      if (mode === 'External' || !URL.canParse(target, base)) return;
      const { protocol, pathname } = new URL(target, base);
      if (protocol !== 'zip:') return;
      relations.set(id, { kind: type.slice(type.lastIndexOf('/') + 1), part: pathname.slice(1) });
    }),
  );
  return relations;
}

interface ListedSheet {
  readonly name: string;
  readonly id: string;
  readonly isHidden: boolean;
}

async function readMain(
  archive: Archive,
  part: string,
  signal: AbortSignal,
): Promise<{ readonly listed: readonly ListedSheet[]; readonly epoch: Epoch }> {
  const listed: ListedSheet[] = [];
  let epoch: Epoch = 1900;
  await readWholeXml(
    archive.text(part, 'other', signal),
    part,
    opened((tag, attributes) => {
      if (tag === 'workbookPr' && /^(?:1|true)$/.test(attributes['date1904'] ?? '')) epoch = 1904;
      if (tag !== 'sheet') return;
      const { name, state = 'visible' } = attributes;
      const id = attributeOf(attributes, 'id');
      if (listed.length >= sheetsMax) throw new MalformedFile(null, `the workbook has more than ${sheetsMax} sheets`);
      if (name !== undefined && id !== undefined) listed.push({ name, id, isHidden: state !== 'visible' });
    }),
  );
  return { listed, epoch };
}

async function readFormats(archive: Archive, part: string, signal: AbortSignal): Promise<(MomentFormat | null)[]> {
  const codes = new Map<number, string>();
  const formats: number[] = [];
  let isOfCells = false;
  // Conditional formats have formats with the same numbers.
  let isOfFormats = false;
  await readWholeXml(archive.text(part, 'other', signal), part, {
    open: (tag, attributes) => {
      if (tag === 'cellXfs') isOfCells = true;
      if (tag === 'numFmts') isOfFormats = true;
      if (tag === 'numFmt' && isOfFormats) codes.set(Number(attributes['numFmtId']), attributes['formatCode'] ?? '');
      if (tag === 'xf' && isOfCells) formats.push(Number(attributes['numFmtId'] ?? 0));
    },
    close: (tag) => {
      if (tag === 'cellXfs') isOfCells = false;
      if (tag === 'numFmts') isOfFormats = false;
    },
    text: () => undefined,
  });
  // Many formats of cells may share one long code: read it once.
  const shown = new Map<number, MomentFormat | null>();
  return formats.map((id) => {
    const known = shown.get(id);
    if (known !== undefined) return known;
    const format = momentFormatOf(id, codes.get(id));
    shown.set(id, format);
    return format;
  });
}

async function readTexts(archive: Archive, part: string, signal: AbortSignal): Promise<string[]> {
  const texts: string[] = [];
  const runs = new TextOfRuns();
  await readWholeXml(archive.text(part, 'texts', signal), part, {
    open: (tag) => runs.open(tag),
    close: (tag) => {
      runs.close(tag);
      if (tag === 'si') texts.push(runs.take());
    },
    text: (text) => runs.add(text),
  });
  return texts;
}

function opened(open: (tag: string, attributes: Attributes) => void): XmlVisitor {
  return { open, close: () => undefined, text: () => undefined };
}
