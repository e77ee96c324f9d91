/** The console in a real browser, as a person uses it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { findChromium } from '../support/chromium.ts';
import { Tablog } from '../../clients/typescript/src/index.ts';
import { useOwnApi, type ApiOfFile, type Team } from '../support/api.ts';
import { limitMs } from '../support/time-limits.ts';

/** Pictures of the pages, of the last run. */
const pictures = join(import.meta.dirname, '../../node_modules/.cache/tablog/console');

/** The rules of WCAG 2.2, levels A and AA, as far as a program can judge them. */
const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Opens a window, with a session of its own. */
type Open = (options?: BrowserContextOptions) => Promise<Page>;

export interface Console extends ApiOfFile {
  /** The service, as a program of the team asks it. */
  tablog(): Tablog;
  readonly open: Open;
  /** A window that is signed in, in the way of the link that the service prints. Null: for the team of the file. */
  signedIn(team: Team | null, options?: BrowserContextOptions): Promise<Page>;
}

/** A browser for all tests of a file. After each test no page may have met an error. */
export function useBrowser(): Open {
  let browser: Browser | undefined;
  const problems: string[] = [];
  const pages: Page[] = [];
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findChromium()!, args: ['--no-sandbox'] });
  });
  afterEach(async () => {
    const met = problems.splice(0);
    await Promise.all(pages.splice(0).map((page) => page.context().close()));
    expect(met).toEqual([]);
  });
  afterAll(() => browser?.close());
  return async (options = {}) => {
    const context = await browser!.newContext({
      viewport: { width: 1280, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(limitMs(90_000));
    pages.push(page);
    page.on('pageerror', ({ message, stack }) => problems.push(stack ?? message));
    page.on('console', (message) => {
      // What the service refuses is an answer; the page shows it.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        problems.push(message.text());
    });
    await page.addInitScript(`document.addEventListener('securitypolicyviolation', ({ violatedDirective, target }) => {
      console.error('The policy forbids ' + violatedDirective + ': ' + target.outerHTML);
    })`);
    return page;
  };
}

/** The service, and a browser, for all tests of a file. */
export function useConsole(): Console {
  const file = useOwnApi();
  const open = useBrowser();
  return {
    ...file,
    open,
    tablog: () => new Tablog({ url: file.api().url, token: file.client().token }),
    signedIn: async (team, options) => {
      const page = await open(options);
      await page.goto(`${file.api().url}/#token=${team === null ? file.client().token : team.client.token}`);
      await page.getByRole('heading', { name: 'Tables' }).waitFor();
      return page;
    },
  };
}

/** Keeps a picture of the page. */
export async function takePicture(page: Page, name: string): Promise<void> {
  await mkdir(pictures, { recursive: true });
  // The picture hides the caret with a style of its own, which the policy of the page forbids.
  await page.screenshot({ path: join(pictures, `${name}.png`), caret: 'initial' });
}

/** Keeps a picture of the page, and checks its accessibility. */
export async function look(page: Page, name: string): Promise<void> {
  await takePicture(page, name);
  const { violations } = await new AxeBuilder({ page }).withTags(wcag).analyze();
  expect(
    violations.map(
      ({ id, nodes }) =>
        `${name}: ${id}: ${nodes
          .map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`)
          .slice(0, 3)
          .join('\n')}`,
    ),
  ).toEqual([]);
}

/** The cell of a row, counted from 0, and a column, once it is loaded. */
export function cell(page: Page, row: number, column: string): ReturnType<Page['locator']> {
  return page.locator(`.ag-row:not(.loading)[row-index="${row}"] .ag-cell[col-id="${column}"]`);
}

/**
 * Opens the editor of a cell. A cell that is drawn anew between two clicks misses the double click: then one clicks
 * again.
 */
export async function edit(page: Page, row: number, column: string): Promise<void> {
  const editor = page.locator('.ag-cell-inline-editing, .ag-popup-editor').first();
  await untilPasses(async () => {
    if (!(await editor.isVisible())) await cell(page, row, column).dblclick();
    await editor.waitFor({ timeout: 2000 });
  });
}

/** Writes into a cell as a person does. */
export async function type(page: Page, row: number, column: string, text: string): Promise<void> {
  await edit(page, row, column);
  await page.keyboard.press('Control+A');
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
}

/** Tries until it does not throw, for ninety seconds. */
export async function untilPasses(attempt: () => Promise<void>): Promise<void> {
  for (const end = performance.now() + 90_000; ; await sleep(50)) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}
