/** Formats pages of rows as the text of a file. */
import { PageRows } from './page-rows.ts';
import type { ExportWriter } from './export-writer.ts';
import type { Page } from './table-pages.ts';

/** The result so far. */
export interface Written {
  rows: number;
  /** Whether there are more rows than the limit. */
  hasMore: boolean;
  /** The versions of the pages in order, without consecutive repeats. */
  readonly versions: string[];
}

interface PagesTextOptions {
  /** Reads a page; `continuation` null: the first one. `limit` is the number of rows still to write. */
  readonly read: (continuation: string | null, limit: number) => Promise<Page>;
  readonly writer: ExportWriter;
  readonly written: Written;
  readonly limit?: number;
  readonly onPage?: () => void;
}

/** Yields the text, page by page. Requests the next page while one is being written. */
export async function* pagesText({
  read,
  writer,
  written,
  limit = Infinity,
  onPage = () => {},
}: PagesTextOptions): AsyncGenerator<string, void, undefined> {
  const pages = new PageRows();
  let next: Promise<Page> | null = read(null, limit);
  let before = writer.begin();
  while (next !== null) {
    const { bytes, version } = await next;
    if (written.versions.at(-1) !== version) written.versions.push(version);
    const continuation = pages.read(bytes, () => {
      if (written.rows === limit) {
        written.hasMore = true;
        return;
      }
      writer.add(pages.scanner);
      written.rows += 1;
    });
    if (continuation !== null && written.rows === limit) written.hasMore = true;
    next = continuation === null || written.hasMore ? null : read(continuation, limit - written.rows);
    // The request is awaited only after the text was consumed; until then a failure must not count as unhandled.
    next?.catch(() => {});
    yield `${before}${writer.take()}`;
    before = '';
    onPage();
  }
  yield writer.end();
}
