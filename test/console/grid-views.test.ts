/** What a person sees of a table: filters, the order of columns, what an export will hold, and a table that is gone. */
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { cell, look, untilPasses, useConsole } from './browser.ts';

const { tablog, signedIn } = useConsole();

async function openTable(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  await page.locator('.ag-row:not(.loading) .ag-cell').first().waitFor();
}

const head = (page: Page, column: string): ReturnType<Page['locator']> =>
  page.locator(`.ag-header-cell[col-id="${column}"]`);

async function filter(page: Page, column: string, text: string): Promise<void> {
  await head(page, column).locator('.ag-header-cell-filter-button').click();
  await page.locator('.ag-filter input[type=text]').first().fill(text);
}

test('a filter says what its column needs, and an export how many rows it holds', async () => {
  const rows = Array.from({ length: 30 }, (_, n) => ({
    Horsepower: 1000 + n,
    day: `2024-03-${String(n + 1).padStart(2, '0')}`,
  }));
  await tablog().createTable({ name: 'cars', rows });
  const page = await signedIn(null);
  await openTable(page, 'cars');
  await filter(page, 'Horsepower', 'many');
  await page.getByRole('alert').getByText('Horsepower needs a number.').waitFor();
  await page.getByText('0 of 30 rows').waitFor();
  await look(page, 'filter-misfit');
  await page.locator('.ag-filter input[type=text]').first().fill('7');
  await page.getByText('No row matches the filter.').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  // Digits in groups, as people write them.
  await page.locator('.ag-filter input[type=text]').first().fill('1 007');
  await page.getByText('1 of 30 rows').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('heading', { name: 'Export 1 row', exact: true }).waitFor();
  await look(page, 'export-filtered');
  await page.getByLabel('As it is filtered and sorted here').uncheck();
  await page.getByRole('heading', { name: 'Export 30 rows', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await filter(page, 'day', 'soon');
  await page.getByRole('alert').getByText('day needs a date, such as 2024-03-01.').waitFor();
});

test('a table that is not there, or no longer, has a way back', async () => {
  const { table } = await tablog().createTable({ name: 'leaves', rows: [{ n: 1 }] });
  const page = await signedIn(null);
  await page.evaluate(`location.hash = '/tables/00000000-0000-7000-8000-000000000000'`);
  await page.getByRole('alert').getByText('There is no such table. Somebody may have deleted it.').waitFor();
  await look(page, 'no-table');
  await page.getByRole('link', { name: 'Back to the tables' }).click();
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
  await openTable(page, 'leaves');
  await table.drop();
  await page.getByRole('link', { name: 'Back to the tables' }).click();
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
});

test('the filter of a column of numbers stands in its own column', async () => {
  await tablog().createTable({ name: 'heads', rows: [{ text: 'a', n: 1 }] });
  const page = await signedIn(null);
  await openTable(page, 'heads');
  await head(page, 'n').hover();
  const name = (await head(page, 'n').locator('.ag-header-cell-text').boundingBox())!;
  const button = (await head(page, 'n').locator('.ag-header-cell-filter-button').boundingBox())!;
  expect(button.x).toBeGreaterThanOrEqual(name.x + name.width);
  await look(page, 'filter-button');
});

test('Home and End go to the first and the last column, with Ctrl also to the first and the last row', async () => {
  const wide = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`c${n}`, n]));
  await tablog().createTable({ name: 'wide', rows: Array.from({ length: 800 }, () => wide) });
  const page = await signedIn(null);
  await openTable(page, 'wide');
  const focused = async (): Promise<unknown> =>
    page.evaluate(`(() => {
    const cell = document.activeElement?.closest('.ag-cell');
    return [cell?.getAttribute('col-id'), cell?.closest('.ag-row')?.getAttribute('row-index')];
  })()`);
  await cell(page, 1, 'c3').click();
  for (const [keys, place] of [
    ['End', ['c29', '1']],
    ['Home', ['c0', '1']],
    ['Control+End', ['c29', '799']],
    ['Control+Home', ['c0', '0']],
  ] as const) {
    await page.keyboard.press(keys);
    await untilPasses(async () => expect(await focused()).toEqual(place));
  }
  await page.keyboard.press('Shift+End');
  await page.keyboard.press('Control+C');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(Object.values(wide).join('\t'));
});

test('the order of the columns and the sort survive a reload, until somebody signs out', async () => {
  await tablog().createTable({
    name: 'arranged',
    rows: [
      { a: 1, b: 'x', c: true },
      { a: 2, b: 'y', c: false },
    ],
  });
  const page = await signedIn(null);
  await openTable(page, 'arranged');
  const order = (): Promise<string[]> =>
    page.locator('.ag-header-cell .ag-header-cell-text').evaluateAll((heads) =>
      heads
        .map((each) => each.closest('.ag-header-cell')!)
        .toSorted((one, other) => one.getBoundingClientRect().x - other.getBoundingClientRect().x)
        .map((each) => each.getAttribute('col-id')!),
    );
  const columns = async (): Promise<string[]> => (await order()).filter((id) => /^[abcd]$/.test(id));
  expect(await columns()).toEqual(['a', 'b', 'c']);
  await head(page, 'a').locator('.ag-header-cell-text').click();
  await head(page, 'a').locator('.ag-header-cell-text').click();
  await cell(page, 0, 'a').getByText('2').waitFor();
  const [from, to] = [(await head(page, 'c').boundingBox())!, (await head(page, 'a').boundingBox())!];
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x + 100, to.y + to.height / 2, { steps: 15 });
  await page.mouse.move(to.x + 10, to.y + to.height / 2, { steps: 5 });
  await page.mouse.up();
  await untilPasses(async () => expect(await columns()).toEqual(['c', 'a', 'b']));
  await page.reload();
  await cell(page, 0, 'a').getByText('2').waitFor();
  expect(await columns()).toEqual(['c', 'a', 'b']);
  // A column that comes later stands at the end.
  const table = (await tablog().find('arranged'))!;
  await table.add([{ a: 3, d: 'new' }], { onSchemaError: 'updateSchema' });
  await untilPasses(async () => expect(await columns()).toEqual(['c', 'a', 'b', 'd']));
  await cell(page, 0, 'a').getByText('3').waitFor();
  await look(page, 'arranged');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Access token').waitFor();
  expect(
    await page.evaluate(
      'Object.keys(sessionStorage).concat(Object.keys(localStorage)).filter((name) => name.includes("layout"))',
    ),
  ).toEqual([]);
});
