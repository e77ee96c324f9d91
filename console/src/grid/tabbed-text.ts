/**
 * Cells as lines with tabs between them, as Excel, LibreOffice and Google Sheets give them to other programs and take
 * them. A cell with a tab, the end of a line or a quote may stand in quotes, with its own quotes doubled.
 */

/**
 * The cells by line. A cell that begins with a quote is a quoted one only if a quote ends it; else all of its quotes
 * are text, as programs write a cell without tabs and line ends. No lines if the text is empty.
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
    // The end of the last line begins no other line.
    if (at >= text.length) return lines;
  }
}

/** Lines of cells as a text, which `cellsOfText` reads as the same cells. */
export function textOfCells(lines: readonly (readonly string[])[]): string {
  const text = lines
    .map((line) => line.map((cell) => (/[\t\r\n"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join('\t'))
    .join('\n');
  // Without an end, a last line of one empty cell would be none.
  return lines.at(-1)?.join('\t') === '' ? `${text}\n` : text;
}

/** The index after the quote that ends the cell; null if none does. */
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
