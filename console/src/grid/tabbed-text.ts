/**
 * Cells as lines with tabs, the form in which Excel, LibreOffice and Google Sheets exchange them. A cell with a tab, a
 * line break or a quote may be in quotes, with its own quotes doubled.
 */

/**
 * The cells by line; no lines if the text is empty. A cell that begins with a quote is a quoted cell only if a quote
 * ends it. Otherwise its quotes are text, because programs write a cell without tabs and line breaks so.
 */
export function cellsOfText(text: string): string[][] {
  if (text === '') return [];
  const lines: string[][] = [];
  let line: string[] = [];
  for (let at = 0; ;) {
    const quotedEnd = text[at] === '"' ? endOfQuoted(text, at) : null;
    const end = quotedEnd ?? endOfPlain(text, at);
    line.push(quotedEnd === null ? text.slice(at, end) : text.slice(at + 1, end - 1).replaceAll('""', '"'));
    if (text[end] === '\t') {
      at = end + 1;
      continue;
    }
    lines.push(line);
    line = [];
    at = end + (text.startsWith('\r\n', end) ? 2 : 1);
    // The end of the last line begins no further line.
    if (at >= text.length) return lines;
  }
}

/** Lines of cells as a text that `cellsOfText` reads back. */
export function textOfCells(lines: readonly (readonly string[])[]): string {
  const text = lines
    .map((line) => line.map((cell) => (/[\t\r\n"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join('\t'))
    .join('\n');
  // Without a line end, a last line with one empty cell would get lost.
  return lines.at(-1)?.join('\t') === '' ? `${text}\n` : text;
}

/** The index after the closing quote of the cell; null if there is none. */
function endOfQuoted(text: string, start: number): number | null {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] === '"') continue;
    return isEndOfCell(text, at + 1) ? at + 1 : null;
  }
  return null;
}

function endOfPlain(text: string, start: number): number {
  let at = start;
  while (!isEndOfCell(text, at)) at += 1;
  return at;
}

function isEndOfCell(text: string, at: number): boolean {
  return at >= text.length || text[at] === '\t' || text[at] === '\n' || text[at] === '\r';
}
