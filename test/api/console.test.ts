/** `/` and `/console/*`: the files of the console. What people do with it is tested in a browser (test/console). */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { fetchChecked } from '../support/interface-document.ts';

const { api } = useApi();

const filesOf = (html: string): string[] =>
  [...html.matchAll(/(?:src|href)="(console\/[^"]+)"/g)].map(([, path]) => `/${path}`);

test('the page may load only pictures and sounds from elsewhere, and each answer has a new nonce', async () => {
  const { url } = api();
  const nonces = await Promise.all(
    [1, 2].map(async () => {
      const page = await fetchChecked(url, '/');
      expect([page.status, page.headers.get('content-type'), page.headers.get('cache-control')]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-store',
      ]);
      const [nonce, ...others] = [...page.text.matchAll(/nonce="([^"]+)"/g)].map(([, text]) => text!);
      // The nonce is in the tags of the script and the style sheet. Uploaded files may have the same origin, and have
      // no nonce.
      expect(others).toEqual([nonce]);
      expect(page.headers.get('content-security-policy')).toBe(
        `default-src 'none'; script-src 'nonce-${nonce}'; worker-src 'self'; style-src 'nonce-${nonce}'; img-src 'self' https: data: blob:; media-src 'self' https:; ` +
          "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      return nonce;
    }),
  );
  expect(new Set(nonces).size).toBe(2);
  expect((await fetchChecked(url, '/', { method: 'POST' })).status).toBe(405);
});

test('the files of the page never change, so caches may keep them', async () => {
  const { url } = api();
  const paths = filesOf((await fetchChecked(url, '/')).text);
  expect(paths.map((path) => path.replace(/-[A-Z0-9]+\./, '.'))).toEqual(['/console/main.css', '/console/main.js']);
  for (const path of paths) {
    for (const method of ['GET', 'HEAD']) {
      const file = await fetchChecked(url, path, { method });
      expect([file.status, file.headers.get('cache-control'), file.headers.get('x-content-type-options')]).toEqual([
        200,
        'public, max-age=31536000, immutable',
        'nosniff',
      ]);
    }
  }
});

test('the first view takes less than 300 KB, compressed', async () => {
  const { url } = api();
  const page = await fetchChecked(url, '/');
  const sizes = await Promise.all(
    filesOf(page.text).map(async (path) => {
      const response = await fetch(`${url}${path}`, { headers: { 'accept-encoding': 'gzip' } });
      await response.body?.cancel();
      return Number(response.headers.get('content-length'));
    }),
  );
  const together = page.text.length + sizes.reduce((sum, size) => sum + size, 0);
  expect(together).toBeGreaterThan(10_000);
  expect(together).toBeLessThan(300_000);
});

test.each([
  '/console',
  '/console/',
  '/console/index.html',
  '/console/main.js',
  '/console/%2e%2e%2fpackage.json',
  '/console/..%2fbuild.ts',
])('the console has no file %s', async (path) => {
  expect((await fetchChecked(api().url, path)).status).toBe(404);
});
