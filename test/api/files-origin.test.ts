/** `FILES_URL`: uploaded files have an origin of their own, which serves neither the console nor the interface. */
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { documentOf } from '../support/interface-document.ts';
import { complete, postUpload, sendBytes } from '../support/uploads.ts';

const { api, client } = useOwnApi({
  PUBLIC_URL: 'https://Tables.example.org',
  FILES_URL: 'https://files.example.org:8443/base/',
});
const [main, files] = ['tables.example.org', 'files.example.org:8443'];

interface Seen {
  readonly status: number;
  readonly location: string | undefined;
  readonly text: string;
}

/**
 * Requests like those of a proxy that forwards the `Host` of the client. Checks answers with files against the
 * document.
 */
async function ask(host: string, path: string, method = 'GET'): Promise<Seen> {
  const document = await documentOf(api().url);
  const asked = request(`${api().url}${path}`, { headers: { host }, method }).end();
  const [answer] = await once(asked, 'response');
  const seen = {
    status: answer.statusCode as number,
    location: answer.headers.location as string | undefined,
    text: await text(answer),
  };
  if (path.startsWith('/files/'))
    document.check({
      method,
      path,
      status: seen.status,
      headers: new Headers(answer.headers as Record<string, string>),
      text: seen.text,
    });
  return seen;
}

test('the URL of a file is at that origin, and only that origin serves it', async () => {
  const contentType = 'text/javascript';
  const created = await postUpload(client(), { contentType, fileName: 'a b.js' });
  const { origin, pathname, search } = new URL(created.location);
  expect(origin).toBe('https://tables.example.org');
  expect(
    await sendBytes({ location: `${api().url}${pathname}${search}` }, 'content', { 'content-type': contentType }),
  ).toBe('200');
  const { url } = (await complete(client(), created)).json.data;
  expect(url).toMatch(/^https:\/\/files\.example\.org:8443\/base\/files\/[\w-]{22}\/a%20b\.js$/);
  // A proxy removes the prefix.
  const path = new URL(url).pathname.replace('/base', '');
  expect(await ask(files, path)).toEqual({ status: 200, location: undefined, text: 'content' });
  // The name of a host may have capital letters. A process that is addressed by its own address, as by a proxy that
  // does not forward the host, serves the file too.
  expect((await ask(files.toUpperCase(), path)).status).toBe(200);
  expect((await ask(new URL(api().url).host, path)).status).toBe(200);
  for (const method of ['GET', 'HEAD']) {
    for (const host of [main, main.toUpperCase()])
      expect(await ask(host, path, method)).toEqual({ status: 307, location: url, text: '' });
  }
  expect((await ask(main, path.replace('a%20b.js', 'other.js'))).location).toBe(url.replace('a%20b.js', 'other.js'));
});

test('that origin serves nothing else', async () => {
  for (const path of [
    '/',
    '/docs',
    '/openapi.json',
    '/tables',
    '/console/main.js',
    '/readyz',
    '/nothing',
    '/files',
    '/FILES/a/b',
    '//files/a/b',
    '/apps/shop/uploads',
  ]) {
    const { status, text: body } = await ask(files, path);
    expect([path, status, JSON.parse(body).error]).toEqual([
      path,
      404,
      { type: 'not_found', message: 'This address serves only files.' },
    ]);
  }
  for (const path of ['/', '/docs', '/openapi.json', '/readyz']) expect((await ask(main, path)).status).toBe(200);
  expect(outcomeOf(await client().get('/tables'))).toBe('200');
});

test('the console may show files of that origin', async () => {
  const page = await fetch(`${api().url}/`);
  await page.text();
  expect(page.headers.get('content-security-policy')).toContain(
    "img-src 'self' https://files.example.org:8443 https: data: blob:; media-src 'self' https://files.example.org:8443 https:; ",
  );
});
