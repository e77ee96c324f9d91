/**
 * Reads XML as it arrives. Refuses entities that a document defines itself, so that a short text cannot expand to a
 * long one.
 */
import { SaxesParser } from 'saxes';
import { MalformedFile } from '../malformed-file.ts';

export type Attributes = Readonly<Record<string, string>>;

/** Gets what is read, with names without the prefix of a namespace. May throw MalformedFile. */
export interface XmlVisitor {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  text(text: string): void;
}

/** Maximum of characters without the end of a text or a tag. A cell has at most 32,767. */
const unfinishedMax = 4 * 2 ** 20;

/** Maximum of characters in the text of a cell, or in a shared text, whatever tags are inside. */
const textMax = 2 ** 20;

/** Maximum depth of tags. Workbooks have a dozen. */
const depthMax = 256;

/** Pieces are read in slices of this length, so that the caller can take the visited rows before there are many. */
const sliceLength = 16 * 1024;

/** Yields after each slice, so that the caller can take what was visited. Throws MalformedFile. */
export async function* readXml(
  pieces: AsyncIterable<string>,
  name: string,
  visitor: XmlVisitor,
): AsyncGenerator<void, void, undefined> {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let unfinished = 0;
  let depth = 0;
  const local = (qualified: string): string => qualified.slice(qualified.indexOf(':') + 1);
  parser.on('error', (error) => {
    throw new MalformedFile(null, `the part ${name} of the workbook is not valid XML: ${error.message}`);
  });
  parser.on('opentag', ({ name: tag, attributes }) => {
    unfinished = 0;
    depth += 1;
    if (depth > depthMax)
      throw new MalformedFile(null, `the part ${name} of the workbook has more than ${depthMax} nested tags`);
    visitor.open(local(tag), attributes);
  });
  parser.on('closetag', ({ name: tag }) => {
    unfinished = 0;
    depth -= 1;
    visitor.close(local(tag));
  });
  parser.on('text', (text) => visitor.text(text));
  parser.on('cdata', (text) => visitor.text(text));
  for await (const piece of pieces) {
    for (let start = 0; start < piece.length; start += sliceLength) {
      const slice = piece.slice(start, start + sliceLength);
      unfinished += slice.length;
      parser.write(slice);
      if (unfinished > unfinishedMax + slice.length)
        throw new MalformedFile(null, `the part ${name} of the workbook has a text that is too long`);
      yield;
    }
  }
  parser.close();
}

/** Reads a whole part. Throws MalformedFile. */
export async function readWholeXml(pieces: AsyncIterable<string>, name: string, visitor: XmlVisitor): Promise<void> {
  // oxlint-disable-next-line no-unused-vars -- the visitor has taken it
  for await (const _ of readXml(pieces, name, visitor));
}

/** An attribute by its name without a prefix, such as `r:id`. */
export function attributeOf(attributes: Attributes, name: string): string | undefined {
  return attributes[name] ?? Object.entries(attributes).find(([key]) => key.endsWith(`:${name}`))?.[1];
}

/** Joins the elements `t` of a cell or a shared text: formatted text has several. Phonetic texts are skipped. */
export class TextOfRuns {
  #isText = false;
  #isPhonetic = false;
  text = '';

  open(name: string): void {
    if (name === 'rPh') this.#isPhonetic = true;
    if (name === 't') this.#isText = !this.#isPhonetic;
  }

  close(name: string): void {
    if (name === 'rPh') this.#isPhonetic = false;
    if (name === 't') this.#isText = false;
  }

  add(text: string): void {
    if (this.#isText) this.text = joinedText(this.text, text);
  }

  /** The text that was read. Escapes such as `_x000D_`, for characters that XML cannot hold, are replaced. */
  take(): string {
    const { text } = this;
    this.text = '';
    return unescapeText(text);
  }
}

/** Appends a text to another one. Throws MalformedFile if the result is too long. */
export function joinedText(before: string, behind: string): string {
  if (before.length + behind.length > textMax)
    throw new MalformedFile(null, `the workbook has a text of more than ${textMax} characters`);
  return before + behind;
}

export function unescapeText(text: string): string {
  return text.includes('_x')
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    : text;
}
