/** Code blocks of Markdown documents: commands, the output that follows them, and files that a reader saves. */

interface DocumentBlock {
  /** `sh`, `ts` and the like; empty if the block names none. */
  readonly language: string;
  readonly text: string;
  /** The line of the document on which the text begins, counted from 1. */
  readonly line: number;
  /** The paragraph before the block. */
  readonly before: string;
}

/** A command, and its output; null if the document does not give it. */
export interface DocumentCommand {
  readonly script: string;
  readonly line: number;
  readonly output: string | null;
}

/** A file that a reader saves before going on. */
interface SavedFile {
  readonly name: string;
  readonly text: string;
}

export type DocumentStep = DocumentCommand | SavedFile;

export const isCommand = (step: DocumentStep): step is DocumentCommand => 'script' in step;

/** The blocks at the left margin or in a list, without their indentation. */
export function blocksOf(document: string): DocumentBlock[] {
  const lines = document.split('\n');
  const blocks: DocumentBlock[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const fence = /^(\s*)```(\w*)$/.exec(lines[at]!);
    if (fence === null) continue;
    const [, indentation, language] = fence;
    const end = lines.indexOf(`${indentation}\`\`\``, at + 1);
    if (end < 0) throw new Error(`The block of line ${at + 1} has no end.`);
    const text = lines.slice(at + 1, end).map((line) => line.slice(indentation!.length));
    blocks.push({ language: language!, text: text.join('\n'), line: at + 2, before: paragraphBefore(lines, at) });
    at = end;
  }
  return blocks;
}

function paragraphBefore(lines: readonly string[], at: number): string {
  let end = at;
  while (end > 0 && lines[end - 1]!.trim() === '') end -= 1;
  let begin = end;
  while (begin > 0 && lines[begin - 1]!.trim() !== '') begin -= 1;
  return lines.slice(begin, end).join('\n');
}

/**
 * The steps of a reader, in order: `sh` blocks are commands, and a block without a language directly after one is its
 * output. A `ts` block is saved under the last name in backticks in the paragraph before it. Without a name it is only
 * read.
 */
export function stepsOf(document: string): DocumentStep[] {
  const blocks = blocksOf(document);
  return blocks.flatMap((block, index): DocumentStep[] => {
    if (block.language === 'ts') {
      const name = [...block.before.matchAll(/`([\w/-]+\.ts)`/g)].at(-1)?.[1];
      return name === undefined ? [] : [{ name, text: `${block.text}\n` }];
    }
    if (block.language !== 'sh') return [];
    const next = blocks[index + 1];
    return [{ script: block.text, line: block.line, output: next?.language === '' ? next.text : null }];
  });
}
