/** Pages of rows as the text of a file. */
import { PageRows } from './page-rows.ts';
import type { RowWriter } from './row-writer.ts';
import type { Page } from './table-pages.ts';

/** What has been written so far. */
export interface Written {
  rows: number;
  /** Whether there are more rows than were asked for. */
  hasMore: boolean;
  /** The versions of the pages in order, without consecutive repeats. */
  readonly versions: string[];
}

interface PagesTextOptions {
  /** Reads a page; null as `continuation`: the first one. `limit` is how many rows are still wanted. */
  readonly read: (continuation: string | null, limit: number) => Promise<Page>;
  readonly writer: RowWriter;
  readonly written: Written;
  readonly limit?: number;
  readonly onPage?: () => void;
}

/** The text, page by page. The next page is requested while one is being written. */
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
    // Awaited once the text was consumed; a failure before that must not count as unhandled.
    next?.catch(() => {});
    yield `${before}${writer.take()}`;
    before = '';
    onPage();
  }
  yield writer.end();
}
