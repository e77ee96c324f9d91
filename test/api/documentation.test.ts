/**
 * `/openapi.json` and `/docs` of each process, whatever its role. The client of the tests checks every answer against
 * the document.
 */
import { describe, expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { documentOf, fetchChecked } from '../support/interface-document.ts';

const { api } = useOwnApi({ PUBLIC_URL: 'https://tables.example.org' });

test('each process has a document of its interface, with the address that clients know', async () => {
  for (const { role, url } of api().processes) {
    const { document } = await documentOf(url);
    expect(document.servers).toEqual([{ url: 'https://tables.example.org' }]);
    const service = [
      '/',
      '/console/{consoleFile}',
      '/metrics',
      '/livez',
      '/readyz',
      '/openapi.json',
      '/docs',
      '/docs/{file}',
    ];
    const interfaces = ['/tables', '/tables/{tableID}/rows', '/tables/{tableID}/rows/{rowID}'];
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(service));
    expect(interfaces.map((path) => path in document.paths)).toEqual(interfaces.map(() => role !== 'projector'));
  }
});

describe('the page', () => {
  const addressesIn = (html: string): string[] =>
    [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);

  test('loads everything from this service, and may load nothing from elsewhere', async () => {
    const { url } = api();
    const page = await fetchChecked(url, '/docs');
    const addresses = addressesIn(page.text).filter((address) => !address.startsWith('data:'));
    expect(addresses).toHaveLength(4);
    for (const address of addresses) {
      const { origin, pathname } = new URL(address, `${url}/docs`);
      expect(origin).toBe(url);
      expect((await fetchChecked(url, pathname)).status).toBe(200);
    }
    const nonces = [...page.text.matchAll(/nonce="([^"]+)"/g)].map(([, text]) => text!);
    expect(nonces).toEqual([nonces[0], nonces[0], nonces[0]]);
    expect(page.headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'nonce-${nonces[0]}'; style-src 'nonce-${nonces[0]}'; img-src 'self' data:; connect-src 'self'; ` +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
  });

  test('has a new nonce in each answer, so no cache keeps it', async () => {
    const pages = await Promise.all([1, 2].map(() => fetchChecked(api().url, '/docs')));
    expect(pages.map(({ headers }) => headers.get('cache-control'))).toEqual(['no-store', 'no-store']);
    expect(new Set(pages.map(({ text }) => /nonce="([^"]+)"/.exec(text)![1])).size).toBe(2);
    expect((await fetchChecked(api().url, '/docs', { method: 'HEAD' })).status).toBe(200);
  });

  test.each(['/docs/start.js', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/openapi.json'])(
    '%s is revalidated on each use, and is sent again only after it has changed',
    async (path) => {
      const { url } = api();
      const first = await fetchChecked(url, path);
      expect(first.status).toBe(200);
      const seen = { headers: { 'if-none-match': first.headers.get('etag')! } };
      for (const method of ['GET', 'HEAD']) {
        const head = await fetchChecked(url, path, { method });
        expect([head.status, head.headers.get('content-type')]).toEqual([200, first.headers.get('content-type')]);
        const again = await fetchChecked(url, path, { ...seen, method });
        expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', first.headers.get('etag')]);
      }
      expect((await fetchChecked(url, path, { headers: { 'if-none-match': '"1"' } })).text).toBe(first.text);
    },
  );

  test.each([
    ['GET', '/docs/', 404],
    ['GET', '/docs/package.json', 404],
    ['GET', '/docs/%2e%2e%2fpackage.json', 404],
    ['GET', '/docs?url=https://example.org', 400],
    ['POST', '/docs', 405],
    ['POST', '/openapi.json', 405],
  ])('%s %s is answered with %i', async (method, path, status) => {
    expect((await fetchChecked(api().url, path, { method })).status).toBe(status);
  });
});
