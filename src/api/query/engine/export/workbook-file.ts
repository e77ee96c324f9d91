/**
 * A workbook (.xlsx) with one sheet, which is packed while it is read. Its bytes are the same each time: nothing in it
 * is of the time or the machine.
 */
import { styles } from './sheet-cells.ts';

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelationships = 'http://schemas.openxmlformats.org/package/2006/relationships';
const contentType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** All parts but the sheet, by their names. */
const parts: Readonly<Record<string, string>> = {
  '[Content_Types].xml':
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    `<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${contentType}.sheet.main+xml"/>` +
    `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${contentType}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${contentType}.styles+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${packageRelationships}"><Relationship Id="rId1" Type="${relationships}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${relationships}"><sheets><sheet name="Rows" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels':
    `<Relationships xmlns="${packageRelationships}"><Relationship Id="rId1" Type="${relationships}/worksheet" Target="worksheets/sheet1.xml"/>` +
    `<Relationship Id="rId2" Type="${relationships}/styles" Target="styles.xml"/></Relationships>`,
};

/** The first moment that a zip archive can have, wherever this runs. */
const packedAt = new Date(1980, 0, 1);

/** The file. `sheet`: the XML of the sheet; each of its parts may change once the next is asked for. */
export async function* workbookFile(
  sheet: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const packed = pack(sheet, writable);
  // It fails with what is read, too, or because nobody reads on.
  packed.catch(() => undefined);
  const reader = readable.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    await packed;
  } finally {
    await Promise.allSettled([reader.cancel(), packed]);
  }
}

async function pack(sheet: AsyncIterable<Uint8Array | string>, target: WritableStream<Uint8Array>): Promise<void> {
  const { configure, TextReader, ZipWriter } = await import('@zip.js/zip.js');
  configure({ useWebWorkers: false });
  const zip = new ZipWriter(target, { lastModDate: packedAt, extendedTimestamp: false });
  try {
    for (const [name, text] of Object.entries(parts)) await zip.add(name, new TextReader(declaration + text));
    await zip.add('xl/styles.xml', new TextReader(styles));
    // Without a size, as it is not known before. Excel takes no zip64 of such a part, so that 4 GiB of XML are the
    // most, and more of it fails.
    await zip.add('xl/worksheets/sheet1.xml', ReadableStream.from(bytesOf(sheet)), { zip64: false });
    await zip.close();
  } catch (error) {
    // It may have failed itself.
    await target.abort(error).catch(() => undefined);
    throw error;
  }
}

async function* bytesOf(sheet: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  for await (const part of sheet) if (part.length > 0) yield typeof part === 'string' ? Buffer.from(part) : part;
}
