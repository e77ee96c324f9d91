/** A file that somebody uploads may be a script at the origin of the console. No page of the service runs it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chromium, type Browser } from 'playwright-core';
import { useOwnApi } from '../support/api.ts';
import { findChromium } from '../support/chromium.ts';
import { upload } from '../support/uploads.ts';

const { api, client } = useOwnApi();

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findChromium()!, args: ['--no-sandbox'] });
});
afterAll(() => browser?.close());

/** Loads a script or a style sheet as markup does that gets into a page. */
const loadInto = (tag: string, address: string): string => `new Promise((resolve) => {
  const element = document.createElement(${JSON.stringify(tag)});
  if (element.tagName === 'LINK') element.rel = 'stylesheet';
  element[element.tagName === 'LINK' ? 'href' : 'src'] = ${JSON.stringify(address)};
  element.onload = () => resolve('loaded');
  element.onerror = () => resolve('refused');
  document.body.append(element);
})`;

test.each(['/', '/docs'])('%s loads neither an uploaded script nor an uploaded style sheet', async (path) => {
  const script = await upload(client(), 'window.wasRun = true;', { contentType: 'text/javascript', fileName: 'a.js' });
  const style = await upload(client(), 'body { display: none }', { contentType: 'text/css', fileName: 'a.css' });
  const page = await browser.newPage();
  try {
    await page.goto(`${api().url}${path}`);
    // The page itself runs.
    await page
      .locator(path === '/' ? '#console > *' : '#page .opblock')
      .first()
      .waitFor();
    expect(new URL(script.url).origin).toBe(new URL(page.url()).origin);
    expect(await page.evaluate(loadInto('script', script.url))).toBe('refused');
    expect(await page.evaluate(loadInto('link', style.url))).toBe('refused');
    expect(await page.evaluate('window.wasRun')).toBeUndefined();
  } finally {
    await page.close();
  }
});
