/**
 * Reads XML while it comes. Entities that a document defines itself are refused, so that a short text never stands for
 * a long one.
 */
import { SaxesParser } from 'saxes';
import { MalformedFile } from '../malformed-file.ts';

export type Attributes = Readonly<Record<string, string>>;

/** Is told what is read, with names that have no prefix of a namespace. May throw MalformedFile. */
export interface XmlVisitor {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  text(text: string): void;
}

/** So many characters may come without the end of a text or tag among them: a cell has 32,767 at most. */
const unfinishedMax = 4 * 2 ** 20;

/** The text of a cell, or one that cells share, may have so many characters, whatever is between them. */
const textMax = 2 ** 20;

/** How deep tags may be within each other: those of workbooks are a dozen. */
const depthMax = 256;

/** Pieces are read in slices, so that what was visited is taken away before there is much of it. */
const sliceLength = 16 * 1024;

/** Awaits `taken` after each piece, so that what was visited can be taken away. Throws MalformedFile. */
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
    throw new MalformedFile(null, `the part ${name} of the workbook is no XML as it should be: ${error.message}`);
  });
  parser.on('opentag', ({ name: tag, attributes }) => {
    unfinished = 0;
    depth += 1;
    if (depth > depthMax)
      throw new MalformedFile(
        null,
        `the part ${name} of the workbook has more than ${depthMax} tags within each other`,
      );
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

/** An attribute by its name without prefix, such as `r:id`. */
export function attributeOf(attributes: Attributes, name: string): string | undefined {
  return attributes[name] ?? Object.entries(attributes).find(([key]) => key.endsWith(`:${name}`))?.[1];
}

/**
 * The text of the elements `t` of a cell or of a shared text: formatted text has several. How it is pronounced does not
 * count.
 */
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

  /** What has been read, with what XML cannot hold in its place: `_x000D_` is a carriage return. */
  take(): string {
    const { text } = this;
    this.text = '';
    return unescapeText(text);
  }
}

/** One text behind the other. Throws MalformedFile if that is too long. */
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
