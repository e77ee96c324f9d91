/**
 * A workbook (.xlsx) with one sheet, which is packed while it is read. The same rows give the same bytes: nothing
 * depends on the time or the machine.
 */
import { styles } from './sheet-cells.ts';

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelationships = 'http://schemas.openxmlformats.org/package/2006/relationships';
const contentType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** All parts except the sheet, by their names. */
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

/** The earliest time that a zip archive can contain, in local time. */
const packedAt = new Date(1980, 0, 1);

/**
 * Yields the file. `sheet` is the XML of the sheet; each of its parts may be overwritten when the next one is
 * requested.
 */
export async function* workbookFile(
  sheet: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const packed = pack(sheet, writable);
  // Its failure also fails the reader, or nobody reads any more.
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
    // The size is not known before. Excel does not accept zip64 for such a part, so more than 4 GiB of XML fail.
    await zip.add('xl/worksheets/sheet1.xml', ReadableStream.from(bytesOf(sheet)), { zip64: false });
    await zip.close();
  } catch (error) {
    // The target itself may have failed.
    await target.abort(error).catch(() => undefined);
    throw error;
  }
}

async function* bytesOf(sheet: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  for await (const part of sheet) if (part.length > 0) yield typeof part === 'string' ? Buffer.from(part) : part;
}
