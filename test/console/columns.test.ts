import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { Tablog, type Table } from '../../clients/typescript/src/index.ts';
import { cell, look, untilPasses, useConsole } from './browser.ts';

const { api, tablog, signedIn } = useConsole();

async function openTable(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  await page.locator('.ag-row:not(.loading) .ag-cell').first().waitFor();
}

/** Chooses an entry of the menu of a column. Resolves to the dialog that opens. */
async function choose(page: Page, column: string, entry: string): Promise<Locator> {
  await page.getByRole('button', { name: `Menu of the column ${column}`, exact: true }).click();
  await page.getByRole('button', { name: entry, exact: true }).click();
  return page.getByRole('dialog');
}

const typesOf = async (table: Table): Promise<unknown> =>
  (await table.columns.list()).map(({ id, type, displayName }) => [id, type, ...(displayName ? [displayName] : [])]);

test('columns are added, renamed and removed in the menu of a column', async () => {
  const { table } = await tablog().createTable({ name: 'menus', rows: [{ a: 1, b: 'x' }, { a: 2 }] });
  const page = await signedIn(null);
  await openTable(page, 'menus');

  const adding = await choose(page, 'a', 'Add a column');
  await adding.getByLabel('Name').fill('c');
  await adding.getByLabel('Type').selectOption('date');
  await look(page, 'add-column');
  await adding.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('columnheader', { name: 'c date' }).waitFor();
  expect(await typesOf(table)).toEqual([
    ['a', 'number'],
    ['b', 'string'],
    ['c', 'date'],
  ]);

  const renaming = await choose(page, 'b', 'Rename column');
  await renaming.getByLabel('Name').fill('Bee');
  await renaming.getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByRole('columnheader', { name: 'Bee string' }).waitFor();

  const removing = await choose(page, 'Bee', 'Remove column');
  await removing.getByText('Its 1 value will be lost for everybody.').waitFor();
  await look(page, 'remove-column');
  await removing.getByRole('button', { name: 'Remove Bee' }).click();
  await untilPasses(async () => expect(await page.getByRole('columnheader', { name: 'Bee' }).count()).toBe(0));
  expect(await typesOf(table)).toEqual([
    ['a', 'number'],
    ['c', 'date'],
  ]);
  await cell(page, 1, 'a').getByText('2').waitFor();
});

test('a type is changed once it is clear what would be lost', async () => {
  const { table } = await tablog().createTable({
    name: 'retyped',
    rows: [{ t: '1' }, { t: 'soon' }, { t: '3' }],
  });
  const page = await signedIn(null);
  await openTable(page, 'retyped');
  const dialog = await choose(page, 't', 'Change type');
  await dialog.getByText('Its type is text.').waitFor();
  await dialog.getByLabel('Type').selectOption('markdown');
  await dialog.getByText('All values fit markdown.').waitFor();
  await dialog.getByLabel('Type').selectOption('number');
  await dialog.getByText('1 value does not fit number: "soon". It will be lost for everybody.').waitFor();
  await look(page, 'change-type');
  // Another client writes meanwhile. The console may empty only the cells that it showed.
  await table.add([{ t: 'later' }]);
  await dialog.getByRole('button', { name: 'Change and empty 1 cell' }).click();
  await dialog.getByText('2 values do not fit number, such as "soon".').waitFor();
  expect(await typesOf(table)).toEqual([['t', 'string']]);
  await dialog.getByRole('button', { name: 'Change and empty 2 cells' }).click();
  await page.getByRole('columnheader', { name: 't number' }).waitFor();
  expect((await table.rows().toArray()).map(({ t }) => t)).toEqual([1, undefined, 3, undefined]);
});

test('the menu opens by keys, and not for those who only read', async () => {
  const { table } = await tablog().createTable({ name: 'keys', rows: [{ a: 1 }] });
  const page = await signedIn(null);
  await openTable(page, 'keys');
  await cell(page, 0, 'a').click();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Alt+ArrowDown');
  await page.getByRole('button', { name: 'Rename column' }).waitFor();
  expect(await typesOf(table)).toEqual([['a', 'number']]);

  const team = await api().createTeam();
  await new Tablog({ url: api().url, token: team.client.token }).createTable({ name: 'read', rows: [{ a: 1 }] });
  const other = await signedIn({ ...team, client: (await team.createToken({ readOnly: true })).client });
  await openTable(other, 'read');
  expect(await other.getByRole('button', { name: 'Menu of the column a' }).count()).toBe(0);
});
