/** Files in the console: what they hold is shown, and they become tables. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { look, untilPasses, useConsole } from './browser.ts';

const { api, tablog, signedIn } = useConsole();

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-files-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Chooses a file with this content. */
async function choose(page: Page, name: string, content: string | Buffer): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, content);
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Import a file' }).click();
  await (await chooser).setFiles(path);
  await page.getByRole('dialog', { name: `Import ${name}` }).waitFor();
}

const start = (page: Page): Promise<void> => page.getByRole('button', { name: 'Import', exact: true }).click();
const firstRow = (page: Page, text: string): Promise<void> =>
  page.getByRole('cell', { name: text, exact: true }).first().waitFor();
const imported = (page: Page, text: string): Promise<void> => page.getByRole('dialog').getByText(text).waitFor();

async function rowsOf(name: string): Promise<object[]> {
  const rows = await (await tablog().find(name))!.rows().toArray();
  return rows.map(({ $rowID: _id, ...row }) => row);
}

test('the sheet of a workbook that was chosen is imported', async () => {
  const page = await signedIn(null);
  await choose(page, 'workbook.xlsx', await readFile(new URL('../fixtures/workbooks/people.xlsx', import.meta.url)));
  await firstRow(page, 'Ada, "the first"');
  expect(await page.getByLabel('Sheet').locator('option').allInnerTexts()).toContain('hidden (hidden)');
  await page.getByLabel('Sheet').selectOption('Other');
  await firstRow(page, 'second sheet');
  await start(page);
  await imported(page, '1 row imported into workbook');
  expect(await rowsOf('workbook')).toEqual([{ n: 1, text: 'second sheet' }]);
});

test('a file is shown as it is read, and becomes a table', async () => {
  const page = await signedIn(null);
  await choose(page, 'umsatz.csv', Buffer.from('Land;Betrag\nÖsterreich;12\n"Schw;eiz";7\n', 'latin1'));
  await page.getByRole('alert').getByText('Line 2: the text is not UTF-8').waitFor();
  expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true);
  await page.getByLabel('Encoding').selectOption('windows-1252');
  await firstRow(page, 'Schw;eiz');
  await page.getByRole('columnheader', { name: 'Betrag number' }).waitFor();
  expect(await page.getByLabel('Separator').locator('option:checked').innerText()).toBe('detected: semicolons');
  await look(page, 'import-preview');
  await page.getByLabel('Separator').selectOption('vertical bars');
  await page
    .getByRole('alert')
    .getByText('Line 3: ["Land;Betrag"]: "\\"Schw;eiz\\";" has something behind its closing quote')
    .waitFor();
  await page.getByLabel('Separator').selectOption('semicolons');
  await firstRow(page, 'Schw;eiz');
  expect(await page.getByLabel('Name of the table').inputValue()).toBe('umsatz');
  await page.getByLabel('Name of the table').fill('Umsätze');
  await start(page);
  await imported(page, '2 rows imported into Umsätze');
  await look(page, 'import-result');
  await page.getByRole('link', { name: 'Show the table' }).click();
  await page.getByRole('heading', { name: 'Umsätze' }).waitFor();
  expect(await rowsOf('Umsätze')).toEqual([
    { Land: 'Österreich', Betrag: 12 },
    { Land: 'Schw;eiz', Betrag: 7 },
  ]);
});

test('the preview says which cells make a column text, offers what would help, and shows the effect of each choice', async () => {
  const page = await signedIn(null);
  const dialog = page.getByRole('dialog');
  const columns = (): Promise<(string | null)[]> =>
    dialog.getByRole('columnheader').evaluateAll((heads) => heads.map((head) => head.getAttribute('aria-label')));
  const shows = (expected: readonly string[]): Promise<void> =>
    untilPasses(async () => expect(await columns()).toEqual(expected));
  await choose(
    page,
    'said.csv',
    'Betrag;Tag;Alter;Ort\n1.234,50;31.12.2024;36;4001\n7,25;01.02.2025;NA;4002\n3;03.03.2025;4;4003\n',
  );
  await shows(['Betrag string', 'Tag string', 'Alter string', 'Ort number']);
  const list = page.getByRole('list', { name: 'Columns that are text because of some cells' });
  expect(await list.getByRole('listitem').first().innerText()).toBe(
    'Betrag is text: 2 of 3 cells are not numbers: 1.234,50 in line 2, 7,25 in line 3. Read 1.234,50 as 1234.50',
  );
  await look(page, 'import-text-columns');
  await dialog.getByRole('button', { name: 'Read NA as empty' }).click();
  await shows(['Betrag string', 'Tag string', 'Alter number', 'Ort number']);
  await dialog.getByRole('button', { name: 'Read 31.12.2024 as 2024-12-31' }).click();
  await shows(['Betrag string', 'Tag date', 'Alter number', 'Ort number']);
  await dialog.getByRole('button', { name: 'Read 1.234,50 as 1234.50' }).click();
  await shows(['Betrag number', 'Tag date', 'Alter number', 'Ort number']);
  expect(await list.count()).toBe(0);
  await page.getByText('More options (2 in use)').click();
  expect([
    await page.getByLabel('Numbers').inputValue(),
    await page.getByLabel('Dates').inputValue(),
    await page.getByLabel('Texts that mean empty').inputValue(),
  ]).toEqual([',', 'd.m.y', 'NA']);
  // What does not fit a type that was chosen is said, and the choice can be taken back.
  await page.getByLabel('Type of Ort').selectOption('date');
  await page
    .getByRole('alert')
    .getByText(/^Line 2: /)
    .waitFor();
  expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true);
  await page.getByLabel('Type of Ort').selectOption('text');
  await shows(['Betrag number', 'Tag date', 'Alter number', 'Ort string']);
  expect(await page.getByRole('alert').count()).toBe(0);
  await look(page, 'import-forms');
  await start(page);
  await imported(page, '3 rows imported into said');
  expect(await rowsOf('said')).toEqual([
    { Betrag: 1234.5, Tag: '2024-12-31', Alter: 36, Ort: '4001' },
    { Betrag: 7.25, Tag: '2025-02-01', Ort: '4002' },
    { Betrag: 3, Tag: '2025-03-03', Alter: 4, Ort: '4003' },
  ]);
});

test('every form of a file can be said, and where its columns go', async () => {
  const page = await signedIn(null);
  await choose(page, 'forms.csv', "made by a machine\n\n# name, size\n'it\\'s; here';6\"\n# and so on\nb;7\n");
  await page.getByText('More options').click();
  await page.getByLabel('Lines before the header').fill('x');
  await page.getByRole('alert').getByText('Lines before the header: x is not a number.').waitFor();
  await page.getByLabel('Lines before the header').fill('1');
  await page.getByLabel('Comments begin with').fill('#');
  await page.getByLabel('First line').selectOption('is a row: there is no header');
  await page.getByLabel('Separator').selectOption('another character');
  await page.getByLabel('Separating character').fill(';');
  await page.getByLabel('Quotes around cells').selectOption("'single'");
  await page.getByLabel('A quote within quotes').selectOption('has a backslash before it');
  await firstRow(page, "it's; here");
  await firstRow(page, '6"');
  await start(page);
  await imported(page, '2 rows imported into forms');
  expect(await rowsOf('forms')).toEqual([
    { column_1: "it's; here", column_2: '6"' },
    { column_1: 'b', column_2: '7' },
  ]);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();

  await choose(page, 'inches.csv', 'a,a\n6" x 5",1\n');
  await page.getByRole('alert').getByText('Line 2: a: "6\\"" has a quote in it').waitFor();
  await page.getByText('More options').click();
  await page.getByLabel('A quote inside a cell is text').check();
  await page.getByRole('alert').getByText('the column ID "a" occurs twice').waitFor();
  await page.getByLabel('Rename columns with the same name').check();
  await page.getByRole('columnheader', { name: 'a_2 number' }).waitFor();
  await start(page);
  await imported(page, '1 row imported into inches');
  expect(await rowsOf('inches')).toEqual([{ a: '6" x 5"', a_2: 1 }]);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();

  await tablog().createTable({
    name: 'target',
    columns: [
      { id: 'name', displayName: 'Full name', type: 'string' },
      { id: 'n', type: 'number' },
    ],
  });
  await choose(page, 'more.csv', 'Full name,Zahl\nAnn,1\n');
  await page.getByLabel('What to do with the rows').selectOption('Add to an existing table');
  await page.getByRole('combobox', { name: 'Table', exact: true }).selectOption('target');
  const target = page.getByLabel('Column of the table for Full name');
  await untilPasses(async () => expect(await target.locator('option:checked').innerText()).toBe('Full name'));
  await page.getByLabel('Column of the table for Zahl').selectOption('Full name');
  expect(await target.locator('option:checked').innerText()).toBe('a new column');
  await target.selectOption({ label: 'Full name' });
  await page.getByRole('alert').getByText('Full name and Zahl cannot both go into Full name.').waitFor();
  await page.getByLabel('Column of the table for Zahl').selectOption('n');
  await look(page, 'import-targets');
  await start(page);
  await imported(page, '1 row imported into target');
  expect(await rowsOf('target')).toEqual([{ name: 'Ann', n: 1 }]);
});

test('rows are added to the table that is shown, or put in the place of all; mistakes have their line', async () => {
  const { table } = await tablog().createTable({ name: 'people', rows: [{ name: 'Ann', age: 36 }] });
  const page = await signedIn(null);
  const open = async (name: string, content: string): Promise<void> => {
    await page.evaluate(`location.hash = '/tables/${table.id}'`);
    await page.getByRole('heading', { name: 'people' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // Files are taken once the page knows that the token may write, and that the last dialog is gone.
    await untilPasses(async () => {
      await drop(page, name, content);
      expect(await page.getByRole('dialog', { name: `Import ${name}` }).count()).toBe(1);
    });
    expect(await page.getByRole('combobox', { name: 'Table', exact: true }).inputValue()).toBe(table.id);
  };
  await open('more.json', '{"name":"Bo","age":4}\n\n{"name":"Cy","age":"old"}\n');
  await firstRow(page, 'Cy');
  await start(page);
  await page.getByRole('alert').getByText('Line 3: age: "old" does not fit the column\'s type number').waitFor();
  expect(await rowsOf('people')).toEqual([{ name: 'Ann', age: 36 }]);
  await page.getByLabel('Values that do not fit').selectOption('leave the values out');
  await firstRow(page, 'Cy');
  await start(page);
  await imported(page, '1 value did not fit and was left out.');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  await untilPasses(async () =>
    expect(await rowsOf('people')).toEqual([{ name: 'Ann', age: 36 }, { name: 'Bo', age: 4 }, { name: 'Cy' }]),
  );

  await open('all.json', '[{"name":"Di","age":1},\n {"name":x}]');
  await page.getByRole('alert').getByText('Line 2: name: broken JSON, unexpected "x"').waitFor();
  await page.keyboard.press('Escape');
  await open('all.json', '{"data":[{"name":"Di","age":1}]}');
  await page.getByText('data: its objects are the rows').waitFor();
  await page.getByLabel('What to do with the rows').selectOption('Replace all rows of a table');
  await start(page);
  await imported(page, '1 row imported into people');
  expect(await rowsOf('people')).toEqual([{ name: 'Di', age: 1 }]);
});

test('cells of a spreadsheet are pasted, and compressed files are read', async () => {
  const page = await signedIn(null);
  await page.evaluate(`navigator.clipboard.writeText('city\\tzip\\nBasel\\t04001\\n')`);
  await page.getByRole('heading', { name: 'Tables' }).click();
  await page.keyboard.press('Control+V');
  await firstRow(page, '04001');
  await page.getByLabel('Name of the table').fill('cities');
  await page.keyboard.press('Enter');
  await imported(page, '1 row imported into cities');
  expect(await rowsOf('cities')).toEqual([{ city: 'Basel', zip: '04001' }]);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  await choose(page, 'packed.csv.gz', gzipSync('n\n1\n2\n'));
  await firstRow(page, '2');
  await start(page);
  await imported(page, '2 rows imported into packed');
});

test('a lost connection is waited for, and who cancels leaves nothing', async () => {
  const page = await signedIn(null);
  const rows = 300_000;
  const file = `n;text\n${Array.from({ length: rows }, (_, row) => `${row};some text of row ${row}\n`).join('')}`;
  await choose(page, 'large.csv', file);
  await firstRow(page, '19');
  await start(page);
  await page.getByText(/^[\d,]+000 rows, /).waitFor();
  await page.context().setOffline(true);
  await page.getByText('Waiting for the connection …').first().waitFor();
  await look(page, 'import-waiting');
  await page.keyboard.press('Escape');
  await page.context().setOffline(false);
  await imported(page, `${rows.toLocaleString('en')} rows imported into large`);
  expect((await (await tablog().find('large'))!.describe()).rows).toBe(rows);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();

  await choose(page, 'canceled.csv', file);
  await firstRow(page, '19');
  const put = page.waitForRequest((request) => request.method() === 'PUT');
  const removed = page.waitForResponse((response) => response.request().method() === 'DELETE');
  await start(page);
  const stash = /\/stashes\/[^/]+/.exec((await put).url())![0];
  await page.getByRole('button', { name: 'Cancel the import' }).click();
  expect(new URL((await removed).url()).pathname).toBe(stash);
  expect((await removed).status()).toBe(200);
  await page.getByText('The import was canceled. No rows were imported.').waitFor();
  expect(await tablog().find('canceled')).toBeUndefined();
});

test('an import ends with its session', async () => {
  const other = await api().createTeam();
  const page = await signedIn(null);
  await choose(
    page,
    'left.csv',
    `n;text\n${Array.from({ length: 300_000 }, (_, row) => `${row};some text of row ${row}\n`).join('')}`,
  );
  await firstRow(page, '19');
  const put = page.waitForRequest((request) => request.method() === 'PUT');
  const removed = page.waitForResponse((response) => response.request().method() === 'DELETE');
  await start(page);
  const stash = /\/stashes\/[^/]+/.exec((await put).url())![0];
  page.once('dialog', (question) => void question.accept());
  await page.goto(`${api().url}/#token=${other.client.token}`);
  expect(new URL((await removed).url()).pathname).toBe(stash);
  await untilPasses(async () => expect(page.workers()).toEqual([]));
  expect(await tablog().find('left')).toBeUndefined();
});

test('who may only read is not asked for files', async () => {
  const team = await api().createTeam();
  const { client } = await team.createToken({ readOnly: true });
  const page = await signedIn({ ...team, client });
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await drop(page, 'a.csv', 'a\n1\n');
  await page.waitForTimeout(500);
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Import a file' }).count()).toBe(0);
});

test('rows that somebody else has written since they were shown are replaced at the second click only', async () => {
  const { table } = await tablog().createTable({ name: 'replaced', rows: [{ n: 1 }, { n: 2 }] });
  const page = await signedIn(null);
  await choose(page, 'new.csv', 'n\n7\n');
  await page.getByLabel('What to do with the rows').selectOption('Replace all rows of a table');
  await page.getByRole('combobox', { name: 'Table', exact: true }).selectOption('replaced');
  await page.getByText('All 2 rows of replaced will be replaced.').waitFor();
  await look(page, 'import-replace');
  await table.add([{ n: 3 }]);
  await start(page);
  await page
    .getByRole('alert')
    .getByText('Somebody else has changed the table since this page showed it. Nothing was imported.')
    .waitFor();
  await page.getByText('All 3 rows of replaced will be replaced.').waitFor();
  expect(await rowsOf('replaced')).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  await look(page, 'import-replace-changed');
  await page.getByRole('button', { name: 'Replace them as they are now' }).click();
  await imported(page, '1 row imported into replaced');
  expect(await rowsOf('replaced')).toEqual([{ n: 7 }]);
});

test('columns that later rows made text are named, with the first cell that did not fit and its line', async () => {
  const days = Array.from({ length: 1_500 }, (_, row) => `${row};2024-03-01;x;${row === 0 ? 'NA' : row}\n`).join('');
  const page = await signedIn(null);
  await choose(
    page,
    'turned.csv',
    `Betrag;Tag;Text;Alter\n${days}n/a;2024-03-02;y;1\n7;soon;1;2\n"about 8";2024-03-03;z;3\n`,
  );
  await page.getByRole('columnheader', { name: 'Betrag number' }).waitFor();
  await page.getByRole('columnheader', { name: 'Tag date' }).waitFor();
  await page
    .getByText(
      'Types are guessed from the first 1,000 rows. A later value that does not fit turns the column into text.',
    )
    .waitFor();
  await start(page);
  await imported(page, '1,503 rows imported into turned');
  const changes = (): Promise<string[]> =>
    page.getByRole('list', { name: 'Columns with another type' }).getByRole('listitem').allInnerTexts();
  expect(await changes()).toEqual([
    'Betrag became text, not number: 2 cells do not fit number. The first is n/a, in line 1,502. Then about 8 in line 1,504.',
    'Tag became text, not date: 1 cell does not fit date. The first is soon, in line 1,503. To change that, import the file again and choose Read soon as empty.',
  ]);
  expect(
    await page
      .getByRole('list', { name: 'Columns that are text because of some cells' })
      .getByRole('listitem')
      .allInnerTexts(),
  ).toEqual([
    'Alter is text: 1 of 1,503 cells is not a number: NA in line 2. To change that, import the file again and choose Read NA as empty.',
  ]);
  await look(page, 'import-turned');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();

  // The same of a table that is there already.
  await tablog().createTable({ name: 'widened by a file', rows: [{ n: 1 }] });
  await choose(page, 'widening.csv', 'n,new\n2,3\nmany,4\n');
  await page.getByLabel('What to do with the rows').selectOption('Add to an existing table');
  await page.getByRole('combobox', { name: 'Table', exact: true }).selectOption('widened by a file');
  await page.getByLabel('Values that do not fit').selectOption('give their columns wider types');
  await start(page);
  await imported(page, '2 rows imported into widened by a file');
  expect(await changes()).toEqual([
    'n became text, not number: 1 cell does not fit number. The first is many, in line 3.',
  ]);
});

/** Drops a file on the page. */
async function drop(page: Page, name: string, content: string): Promise<void> {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([${JSON.stringify(content)}], ${JSON.stringify(name)}));
    for (const kind of ['dragover', 'drop'])
      document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
  }`);
}
