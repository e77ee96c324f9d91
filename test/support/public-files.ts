/** Public files, requested as anybody can: without a token. */
import { expect } from '@jest/globals';
import type { ApiOfFile } from './api.ts';
import type { Client } from './client.ts';
import { fetchChecked } from './interface-document.ts';
import { checkShape, type Exchange } from './shapes.ts';
import { upload } from './uploads.ts';

/** The content of a file of 100 bytes. */
export const digits = '0123456789'.repeat(10);

type Ask<T> = (place: string, headers?: Readonly<Record<string, string>>, method?: string) => Promise<T>;

/** Call these within tests. */
interface PublicFiles {
  /**
   * Requests a file, or a path, of the service. Checks that an error has the shape of errors, and that no cache may
   * store it.
   */
  readonly get: Ask<Exchange>;
  /** The status, and for an error its type. */
  readonly outcome: Ask<string>;
  /** Uploads a file of `digits`. */
  uploadDigits(client: Client): Promise<{ readonly url: string; readonly etag: string }>;
}

export function publicFilesOf({ api }: Pick<ApiOfFile, 'api'>): PublicFiles {
  const get: PublicFiles['get'] = async (place, headers = {}, method = 'GET') => {
    const { pathname } = new URL(place, api().url);
    const exchange = await fetchChecked(api().url, pathname, { headers, method });
    if (exchange.status >= 400) {
      checkShape(exchange);
      // If a cache stored an error for a year, it could not show the file for that long.
      expect(['cache-control', 'etag', 'content-disposition'].filter((name) => exchange.headers.has(name))).toEqual([]);
    }
    return exchange;
  };
  return {
    get,
    outcome: async (...asked) => {
      const { status, text: body } = await get(...asked);
      return status < 400 || body === '' ? String(status) : `${status} ${JSON.parse(body).error.type}`;
    },
    uploadDigits: async (client) => {
      const { url } = await upload(client, digits, { contentType: 'text/plain', fileName: 'digits.txt' });
      return { url, etag: (await get(url)).headers.get('etag')! };
    },
  };
}
