import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Page, Response } from 'playwright-core';
import { Tablog } from '../../clients/typescript/src/index.ts';
import { cell, edit, look, type, untilPasses, useConsole } from './browser.ts';

const { api, tablog, signedIn } = useConsole();

/** A table, and a window that shows it. */
async function openTable(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  await page.locator('.ag-row:not(.loading) .ag-cell').first().waitFor();
}

const hostile = '<img src=x onerror=alert(1)>"\'&{{1+1}}';

test('a table of 10,000 rows scrolls to its end, is sorted and filtered', async () => {
  await tablog().createTable({
    name: 'numbers',
    rows: Array.from({ length: 10_000 }, (_, n) => ({ n, name: `row ${n}`, even: n % 2 === 0, day: '2024-03-01' })),
  });
  const page = await signedIn(null);
  await openTable(page, 'numbers');
  await page
    .locator('.ag-grid-viewport, .ag-body-viewport')
    .first()
    .evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
  await cell(page, 9999, 'name').getByText('row 9999').waitFor();
  await page.locator('.ag-header-cell[col-id=n] .ag-header-cell-text').click();
  await page.locator('.ag-header-cell[col-id=n] .ag-header-cell-text').click();
  await page
    .locator('.ag-grid-viewport, .ag-body-viewport')
    .first()
    .evaluate((element) => {
      element.scrollTop = 0;
    });
  await cell(page, 0, 'n').getByText('9999').waitFor();
  await page.locator('.ag-header-cell[col-id=name] .ag-header-cell-filter-button').click();
  await page.locator('.ag-filter input[type=text]').first().fill('ROW 12');
  await page.getByText('111 of 10,000 rows').waitFor();
  await cell(page, 0, 'n').getByText('1299').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.ag-header-cell[col-id=even] .ag-header-cell-filter-button').click();
  await page.locator('.ag-filter .ag-picker-field-display').first().click();
  await page.getByRole('option', { name: 'Is true' }).click();
  await page.getByText('56 of 10,000 rows').waitFor();
  await cell(page, 0, 'n').getByText('1298').waitFor();
});

test('a cell is edited; where somebody else has changed it meanwhile, one chooses', async () => {
  const {
    table,
    rowIDs: [, rowID],
  } = await tablog().createTable({
    name: 'edited',
    rows: [
      { name: 'a', n: 1 },
      { name: 'b', n: 2 },
    ],
  });
  const now = async (): Promise<unknown> => (await table.row(rowID!)).data;
  const page = await signedIn(null);
  await openTable(page, 'edited');

  await type(page, 1, 'name', hostile);
  await untilPasses(async () => expect(await now()).toMatchObject({ name: hostile, n: 2 }));
  expect(await cell(page, 1, 'name').innerText()).toBe(hostile);

  // Another cell of the row is no conflict.
  // The editor reads the row; the answer to the write before may come late.
  const isRead = (response: Response): boolean =>
    response.request().method() === 'GET' && response.url().endsWith(rowID!);
  const begin = (): Promise<unknown> => Promise.all([page.waitForResponse(isRead), edit(page, 1, 'name')]);
  await begin();
  await table.patch(rowID!, { n: 3 });
  await page.keyboard.press('Control+A');
  await page.keyboard.type('mine');
  await page.keyboard.press('Enter');
  await untilPasses(async () => expect(await now()).toMatchObject({ name: 'mine', n: 3 }));

  for (const [button, kept] of [
    ['Keep what is there now', 'theirs'],
    ['Replace with mine', 'mine again'],
  ] as const) {
    await cell(page, 1, 'name').getByText('mine', { exact: true }).waitFor();
    await begin();
    await table.patch(rowID!, { name: 'theirs' });
    await page.keyboard.press('Control+A');
    await page.keyboard.type('mine again');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('theirs').waitFor();
    await look(page, 'conflict');
    await page.getByRole('button', { name: button }).click();
    await untilPasses(async () => expect(await now()).toMatchObject({ name: kept }));
    await cell(page, 1, 'name').getByText(kept).waitFor();
    await table.patch(rowID!, { name: 'mine' });
  }
});

test('what changes elsewhere waits while a cell is edited', async () => {
  const { table, rowIDs } = await tablog().createTable({ name: 'undisturbed', rows: [{ name: 'a', n: 1 }] });
  const page = await signedIn(null);
  await openTable(page, 'undisturbed');
  await edit(page, 0, 'name');
  await page.keyboard.press('Control+A');
  // Long enough that the page asks for the version meanwhile, and reads the rows.
  const words = 'as somebody types it '.repeat(6);
  const typed = page.keyboard.type(words, { delay: 30 });
  for (let n = 3; n < 6; n += 1) {
    await table.patch(rowIDs[0]!, { n, name: `theirs ${n}` });
    await page.getByText(`Version ${(await table.version()).slice(1, -1)}`).waitFor();
  }
  await typed;
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('theirs 5').waitFor();
  await page.getByRole('button', { name: 'Replace with mine' }).click();
  await untilPasses(async () => expect((await table.row(rowIDs[0]!)).data).toMatchObject({ name: words, n: 5 }));
  await cell(page, 0, 'n').getByText('5').waitFor();
});

test('a space that is typed shows no cell in full, however soon Enter follows', async () => {
  await tablog().createTable({ name: 'typed fast', rows: [{ name: 'a' }] });
  const page = await signedIn(null);
  await openTable(page, 'typed fast');
  await edit(page, 0, 'name');
  const editor = page.locator('.ag-cell-inline-editing input');
  // Both in one turn of the page, as where somebody types faster than the page keeps up.
  await page.evaluate(
    `for (const key of [' ', 'Enter']) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))`,
  );
  await editor.waitFor({ state: 'detached' });
  // Until the grid has told of the keys.
  await sleep(500);
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.keyboard.press('Space');
  await page.getByRole('dialog', { name: 'name' }).waitFor();
});

test('a value that does not fit its column can widen it', async () => {
  const { table } = await tablog().createTable({ name: 'widened', rows: [{ n: 1 }] });
  const page = await signedIn(null);
  await openTable(page, 'widened');
  await type(page, 0, 'n', 'many');
  await page.getByRole('dialog').getByText('many is not a number.').waitFor();
  await page.getByRole('dialog').getByText('Change n from number to text? For everybody').waitFor();
  await look(page, 'misfit');
  expect(await page.getByRole('button', { name: 'Keep number' }).count()).toBe(1);
  await page.getByRole('button', { name: 'Change to text' }).click();
  await untilPasses(async () => expect((await table.describe()).schema.columns).toEqual([{ id: 'n', type: 'string' }]));
  await page.getByRole('columnheader', { name: 'n string' }).waitFor();
});

test('JSON, lists and texts of several lines are edited as what they are', async () => {
  const row = { object: { a: [1, { b: 'c' }] }, list: ['x', 'y'], text: 'one\ntwo', flag: true };
  const {
    table,
    rowIDs: [rowID],
  } = await tablog().createTable({
    name: 'edited in full',
    rows: [row],
    columns: [
      { id: 'object', type: 'json' },
      { id: 'list', type: { kind: 'array', items: { kind: 'string' } } },
      { id: 'text', type: 'string' },
      { id: 'flag', type: 'boolean' },
    ],
  });
  const page = await signedIn(null);
  await openTable(page, 'edited in full');
  const edited = { object: '{"a":[1,{"b":"c"}]}', list: '["x","y"]', text: 'one\ntwo' };
  for (const [column, text] of Object.entries(edited)) {
    await edit(page, 0, column);
    const editor = page.locator('.ag-popup-editor textarea');
    expect(await editor.inputValue()).toBe(text);
    await editor.press('End');
    await editor.press('Enter');
    await editor.waitFor({ state: 'detached' });
  }
  // What was only looked at is not written.
  expect((await table.row(rowID!)).data).toMatchObject(row);
  await type(page, 0, 'object', '{"a":2}');
  await type(page, 0, 'list', '["z"]');
  await untilPasses(async () =>
    expect((await table.row(rowID!)).data).toMatchObject({ object: { a: 2 }, list: ['z'] }),
  );
});

test('a cell is read in full, also where nothing can be edited', async () => {
  const team = await api().createTeam();
  const words = 'word '.repeat(500);
  await new Tablog({ url: api().url, token: team.client.token }).createTable({
    name: 'read',
    rows: [{ words, object: { a: [1] } }],
  });
  const page = await signedIn(team);
  await openTable(page, 'read');
  await cell(page, 0, 'object').click();
  await page.keyboard.press('Space');
  await page.getByRole('dialog', { name: 'object' }).getByText('"a": [').waitFor();
  expect(await page.locator('.ag-row-selected').count()).toBe(0);
  await page.keyboard.press('Escape');

  const reader = await team.createToken({ readOnly: true });
  const readers = await signedIn({ ...team, client: reader.client });
  await openTable(readers, 'read');
  await cell(readers, 0, 'words').click();
  await readers.keyboard.press('Enter');
  expect(await readers.getByRole('dialog', { name: 'words' }).innerText()).toContain(words.trim());
  await look(readers, 'whole-cell');
});

test('numbers show as they were written, and an edit leaves them so', async () => {
  const team = await api().createTeam();
  const rows = '[{"price":4.20,"ratio":0.1234567890123456789,"name":"a"}]';
  const created = await team.client.post('/tables', `{"name":"written","rows":${rows}}`);
  const page = await signedIn(team);
  await openTable(page, 'written');
  expect(await cell(page, 0, 'price').innerText()).toBe('4.20');
  expect(await cell(page, 0, 'ratio').innerText()).toBe('0.1234567890123456789');
  // The editor has the number as it is, and nothing is written if it stays.
  await edit(page, 0, 'ratio');
  await page.keyboard.press('Enter');
  await type(page, 0, 'name', 'b');
  await untilPasses(async () => {
    const { text } = await team.client.get(`/tables/${created.json.data.tableID}/rows`);
    expect(text).toContain('"price":4.20,"ratio":0.1234567890123456789,"name":"b"');
  });
});

test('what changes elsewhere shows without a reload, in two windows', async () => {
  await tablog().createTable({ name: 'live', rows: [{ name: 'a' }] });
  const [one, other] = [await signedIn(null), await signedIn(null)];
  await openTable(one, 'live');
  await openTable(other, 'live');
  await type(one, 0, 'name', 'changed');
  await cell(other, 0, 'name').getByText('changed').waitFor();
  await other.getByRole('button', { name: 'Add a row' }).click();
  await cell(one, 1, 'name').waitFor();
  await one.getByText('2 rows', { exact: true }).waitFor();
});

test('while the service cannot be reached nothing is shown as written; rows that are missing come later', async () => {
  await tablog().createTable({ name: 'down', rows: Array.from({ length: 5000 }, (_, n) => ({ n, name: `row ${n}` })) });
  const page = await signedIn(null);
  await openTable(page, 'down');
  await page.route('**/tables/**', (route) => route.abort());
  await type(page, 0, 'name', 'not written');
  await page
    .locator('.ag-grid-viewport, .ag-body-viewport')
    .first()
    .evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
  await page.locator('.status-line').getByText('Trying again').waitFor();
  await page.locator('.notice').getByText('The service cannot be reached.').waitFor();
  await page.unroute('**/tables/**');
  await cell(page, 4999, 'name').getByText('row 4999').waitFor();
  await page
    .locator('.ag-grid-viewport, .ag-body-viewport')
    .first()
    .evaluate((element) => {
      element.scrollTop = 0;
    });
  await cell(page, 0, 'name').getByText('row 0').waitFor();
});

test('a block of cells is copied, and pasted over others and below them; rows are deleted', async () => {
  const { table } = await tablog().createTable({
    name: 'pasted',
    rows: [
      { name: 'a\tb', n: 1 },
      { name: '"c"', n: 2 },
      { name: 'd', n: 3 },
    ],
  });
  const rows = async (): Promise<unknown> => (await table.rows().toArray()).map(({ name, n }) => [name, n]);
  const page = await signedIn(null);
  await openTable(page, 'pasted');
  await cell(page, 0, 'name').click();
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Control+C');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('"a\tb"\t1\n"""c"""\t2');
  await cell(page, 2, 'name').click();
  await page.keyboard.press('Control+V');
  await page.getByText('1 row changed, 1 row added.').waitFor();
  expect(await rows()).toEqual([
    ['a\tb', 1],
    ['"c"', 2],
    ['a\tb', 1],
    ['"c"', 2],
  ]);
  await cell(page, 3, 'name').waitFor();
  await page.locator('.ag-row[row-index="1"] .ag-checkbox-input').check();
  await page.locator('.ag-row[row-index="3"] .ag-checkbox-input').check();
  await page.getByRole('button', { name: 'Delete 2 rows' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('2 rows deleted.').waitFor();
  expect(await rows()).toEqual([
    ['a\tb', 1],
    ['a\tb', 1],
  ]);
});

test('a paste is checked whole before anything changes, and numbers that cannot be exact are refused', async () => {
  const rows = Array.from({ length: 4 }, (_, n) => ({
    name: `name ${n}`,
    other: `other ${n}`,
    day: '2024-01-01',
    n: 1,
  }));
  const { table } = await tablog().createTable({ name: 'checked', rows });
  const now = async (): Promise<unknown> =>
    (await table.rows().toArray()).map(({ name, other, day, n }) => ({ name, other, day, n }));
  const page = await signedIn(null);
  await openTable(page, 'checked');
  const paste = async (row: number, column: string, text: string): Promise<void> => {
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await cell(page, row, column).click();
    await page.keyboard.press('Control+V');
  };
  await paste(0, 'day', '2024-02-01\n01.02.2024\n2024-02-03\n');
  await page
    .locator('.notice')
    .getByText('Line 2: 01.02.2024 is not a date. Write it as in 2024-03-01. Nothing was changed.')
    .waitFor();
  await paste(2, 'day', '2024-02-01\t1\n2024-02-02\t9007199254740993\n');
  await page
    .locator('.notice')
    .getByText('Line 2, column n: 9007199254740993 cannot be stored exactly as a number')
    .waitFor();
  expect(await now()).toEqual(rows);

  await paste(1, 'name', '"quoted start\tx\nsecond\ty\n');
  await page.getByText('2 rows changed, 0 rows added.').waitFor();
  const pasted = [
    rows[0]!,
    { ...rows[1]!, name: '"quoted start', other: 'x' },
    { ...rows[2]!, name: 'second', other: 'y' },
    rows[3]!,
  ];
  expect(await now()).toEqual(pasted);

  await type(page, 0, 'n', '9007199254740993');
  await page
    .getByRole('dialog')
    .getByText('9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.')
    .waitFor();
  await page.getByRole('button', { name: 'Keep number' }).click();
  await page.locator('.ag-header-cell[col-id=n] .ag-header-cell-filter-button').click();
  await page.locator('.ag-filter input[type=text]').first().fill('9007199254740993');
  await page
    .getByRole('alert')
    .getByText('n needs a number. 9007199254740993 cannot be stored exactly as a number')
    .waitFor();
  expect(await now()).toEqual(pasted);
});

test('a block of which somebody else has changed rows is written after a question only, or not at all', async () => {
  const { table, rowIDs } = await tablog().createTable({
    name: 'guarded',
    rows: ['a', 'b', 'c', 'd', 'e'].map((name, index) => ({ name, n: index + 1 })),
  });
  const rows = async (): Promise<unknown> => (await table.rows().toArray()).map(({ name, n }) => [name, n]);
  const page = await signedIn(null);
  await openTable(page, 'guarded');
  const dialog = page.getByRole('dialog');
  // The page hears of no change of others, not by a question that is under way either: it asks one after the other.
  const hold = async (): Promise<void> => {
    const isHeld = Promise.withResolvers<void>();
    await page.route('**/tables/*/rows', (route) => {
      if (route.request().method() !== 'HEAD') return route.continue();
      isHeld.resolve();
      return route.abort();
    });
    await isHeld.promise;
  };
  const answer = async (button: string): Promise<void> => {
    await dialog.getByRole('button', { name: button }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.unroute('**/tables/*/rows');
  };
  const shows = async (): Promise<void> =>
    page
      .locator('.status-line')
      .getByText(`Version ${(await table.version()).slice(1, -1)}`)
      .waitFor();
  const lines = (): Promise<string[]> => dialog.locator('tbody tr').allInnerTexts();
  const batches: number[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/batch')) batches.push(request.postDataJSON().operations.length);
  });

  // A paste: another cell of a row is no conflict, and nothing is written before the answer.
  await hold();
  await table.patch(rowIDs[1]!, { name: 'theirs' });
  await table.patch(rowIDs[2]!, { n: 30 });
  await table.delete(rowIDs[4]!);
  const before = await rows();
  await page.evaluate(`navigator.clipboard.writeText('v\\nw\\nx\\ny\\nz\\nadded')`);
  await cell(page, 0, 'name').click();
  await page.keyboard.press('Control+V');
  await page.getByRole('dialog', { name: 'Somebody else has changed 2 of 6 rows' }).waitFor();
  expect(await lines()).toEqual(['2\tname\tb\ttheirs\tw', '5\tname\te\tThe row is deleted\tz']);
  await look(page, 'row-conflicts');
  expect(await rows()).toEqual(before);
  await answer('Keep what is there now');
  await page.getByText('3 rows changed, 1 row added.').waitFor();
  expect(batches).toEqual([6, 4]);
  const pasted = [
    ['v', 1],
    ['theirs', 2],
    ['x', 30],
    ['y', 4],
    ['added', undefined],
  ];
  expect(await rows()).toEqual(pasted);
  await shows();
  await cell(page, 4, 'name').getByText('added').waitFor();

  // A cleared block: first nothing, then all of it.
  for (const [button, cleared] of [
    ['Cancel', [['v', 10], ...pasted.slice(1)]],
    ['Replace with mine', [[undefined, undefined], [undefined, undefined], ...pasted.slice(2)]],
  ] as const) {
    await hold();
    await table.patch(rowIDs[0]!, { n: button === 'Cancel' ? 10 : 11 });
    // A cell that is drawn anew loses the click.
    await untilPasses(async () => {
      await cell(page, 0, 'name').click();
      await page.keyboard.press('Shift+ArrowDown');
      await page.keyboard.press('Shift+ArrowRight');
      await page.locator('.in-range').nth(3).waitFor({ timeout: 2000 });
    });
    await page.keyboard.press('Delete');
    await page.getByRole('dialog', { name: 'Somebody else has changed 1 of 2 rows' }).waitFor();
    expect(await lines()).toHaveLength(1);
    await answer(button);
    await untilPasses(async () => expect(await rows()).toEqual(cleared));
    await shows();
    if (button === 'Cancel') await cell(page, 0, 'n').getByText('10').waitFor();
  }

  // Deleted rows: those that are kept stay selected.
  await hold();
  for (const index of [2, 3]) await page.locator(`.ag-row[row-index="${index}"] .ag-checkbox-input`).check();
  await table.patch(rowIDs[3]!, { name: 'theirs' });
  await page.getByRole('button', { name: 'Delete 2 rows' }).click();
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'Somebody else has changed 1 of 2 rows' }).waitFor();
  expect(await lines()).toEqual(['4\tname\ty\ttheirs']);
  await look(page, 'rows-to-delete');
  await answer('Keep these rows');
  await page.getByText('1 row deleted.').waitFor();
  expect((await rows()) as unknown[]).toHaveLength(4);
  await shows();
  await cell(page, 2, 'name').getByText('theirs').waitFor();
  await hold();
  await table.patch(rowIDs[3]!, { name: 'theirs again' });
  await page.getByRole('button', { name: 'Delete 1 row' }).click();
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'Somebody else has changed 1 of 1 row' }).waitFor();
  await answer('Delete these rows too');
  await untilPasses(async () => expect((await rows()) as unknown[]).toHaveLength(3));
  await page.getByRole('button', { name: /^Delete \d/ }).waitFor({ state: 'detached' });
});

test('a block is filled by one pasted cell, and by its first row; one step has at most 10,000 rows', async () => {
  const { table } = await tablog().createTable({
    name: 'filled',
    rows: Array.from({ length: 4 }, (_, n) => ({ name: `row ${n}`, n })),
  });
  const rows = async (): Promise<unknown> => (await table.rows().toArray()).map(({ name, n }) => [name, n]);
  const page = await signedIn(null);
  await openTable(page, 'filled');
  const writes: string[] = [];
  page.on('request', (request) => {
    if (/\/(batch|rows)(\/.*)?$/.test(request.url()) && !/^(GET|HEAD)$/.test(request.method()))
      writes.push(request.url().split('/').at(-1)!);
  });
  await page.evaluate(`navigator.clipboard.writeText('same')`);
  await cell(page, 1, 'name').click();
  for (const key of ['ArrowDown', 'ArrowDown']) await page.keyboard.press(`Shift+${key}`);
  await page.keyboard.press('Control+V');
  await page.getByText('3 rows changed, 0 rows added.').waitFor();
  expect(await rows()).toEqual([
    ['row 0', 0],
    ['same', 1],
    ['same', 2],
    ['same', 3],
  ]);
  await untilPasses(async () => {
    await cell(page, 0, 'name').click();
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowRight');
    await page.locator('.in-range').nth(3).waitFor({ timeout: 2000 });
  });
  await page.keyboard.press('Control+D');
  await page.getByText('Cells of 1 row filled.').waitFor();
  const filled = [
    ['row 0', 0],
    ['row 0', 0],
    ['same', 2],
    ['same', 3],
  ];
  expect(await rows()).toEqual(filled);
  // What this page itself has written is no conflict, however soon the next change follows.
  await page.keyboard.press('Delete');
  await page.getByText('Cells of 2 rows cleared.').waitFor();
  const cleared = [[undefined, undefined], [undefined, undefined], ...filled.slice(2)];
  expect(await rows()).toEqual(cleared);

  await page.evaluate(`navigator.clipboard.writeText('x\\n'.repeat(10_001))`);
  await cell(page, 0, 'name').click();
  await page.keyboard.press('Control+V');
  await page.locator('.notice').getByText('These are 10,001 rows, and one step has at most 10,000.').waitFor();
  await page.evaluate(`navigator.clipboard.writeText(('x'.repeat(1000) + '\\n').repeat(2000))`);
  await cell(page, 0, 'name').click();
  await page.keyboard.press('Control+V');
  await page.locator('.notice').getByText('one step that changes rows has at most 1 MiB').waitFor();
  expect(await rows()).toEqual(cleared);
  expect(writes).toEqual(['batch', 'batch', 'batch']);
});

test('a table that another client has renamed keeps its name, and one that another client has changed is deleted at the second click', async () => {
  const { table } = await tablog().createTable({ name: 'seen', rows: [{ n: 1 }] });
  const page = await signedIn(null);
  await openTable(page, 'seen');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('Name shown for n').fill('mine');
  await table.update({ name: 'theirs' });
  // The page may have heard of it.
  await page.getByRole('heading', { name: 'theirs' }).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Rename' }).waitFor({ state: 'detached' });
  expect(await table.describe()).toMatchObject({
    name: 'theirs',
    schema: { columns: [{ id: 'n', displayName: 'mine' }] },
  });

  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('Name shown for n').fill('mine again');
  await table.update({ columns: [{ id: 'n', displayName: 'their column' }] });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Somebody else has renamed the table').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect((await table.describe()).schema.columns).toMatchObject([{ displayName: 'their column' }]);

  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Delete table' }).click();
  await page.getByRole('dialog').getByText('It has 1 row.').waitFor();
  await table.add([{ n: 2 }]);
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByText('It has 2 rows.').waitFor();
  expect((await table.describe()).rows).toBe(2);
  await look(page, 'drop-changed');
  await page.getByRole('button', { name: 'Delete it as it is now' }).click();
  await page.getByRole('heading', { name: 'Tables', exact: true }).waitFor();
  await expect(table.describe()).rejects.toMatchObject({ type: 'table_not_found' });
});

test('a row that is added under a filter is told of', async () => {
  const { table } = await tablog().createTable({ name: 'filtered', rows: [{ name: 'a' }, { name: 'b' }] });
  const page = await signedIn(null);
  await openTable(page, 'filtered');
  await page.locator('.ag-header-cell[col-id=name] .ag-header-cell-filter-button').click();
  await page.locator('.ag-filter input[type=text]').first().fill('a');
  await page.getByText('1 of 2 rows').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Add a row' }).click();
  await page.getByText('A row was added at the end of the table.').waitFor();
  await page.getByText('1 of 3 rows').waitFor();
  expect(await page.locator('.ag-row').count()).toBe(1);
  expect((await table.describe()).rows).toBe(3);
});

test('what is hostile is shown as text, and links lead where they can do no harm', async () => {
  await tablog().createTable({
    name: hostile,
    rows: [{ [hostile]: hostile, link: 'https://example.org/a', list: [hostile], object: { [hostile]: hostile } }],
    columns: [
      { id: hostile, displayName: hostile, type: 'string' },
      { id: 'link', type: 'uri' },
      { id: 'list', type: { kind: 'array', items: { kind: 'string' } } },
      { id: 'object', type: 'json' },
      { id: 'script', type: 'uri' },
    ],
  });
  const page = await signedIn(null);
  await openTable(page, hostile);
  await page.getByRole('heading', { name: hostile }).waitFor();
  expect(await page.locator('.ag-row[row-index="0"] .ag-cell').allInnerTexts()).toEqual(
    expect.arrayContaining([hostile]),
  );
  expect(await page.getByRole('link', { name: 'https://example.org/a' }).getAttribute('rel')).toBe('noreferrer');
  expect(await page.locator('main img, main a[href^="javascript"]').count()).toBe(0);
});

test('a table is created, renamed and deleted; a token for reading offers none of it', async () => {
  const team = await api().createTeam();
  const page = await signedIn(team);
  await page.getByRole('button', { name: 'New table' }).click();
  await page.getByLabel('Name', { exact: true }).fill('made here');
  await page.getByLabel('Name of column 1').fill('title');
  await page.getByRole('button', { name: 'Add a column' }).click();
  await page.getByLabel('Name of column 2').fill('price');
  await page.getByLabel('Type of column 2').selectOption('number');
  await look(page, 'new-table');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'made here' }).waitFor();
  await page.getByRole('button', { name: 'Add a row' }).click();
  await cell(page, 0, 'title').waitFor();
  await type(page, 0, 'price', '4.20');
  await page.getByRole('button', { name: 'More' }).click();
  await look(page, 'table-menu');
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('Name of the table').fill('renamed');
  await page.getByLabel('Name shown for price').fill('Price in €');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'renamed' }).waitFor();
  await page.locator('.ag-header-cell-text', { hasText: 'Price in €' }).waitFor();

  const reader = await team.createToken({ readOnly: true });
  const readers = await signedIn({ ...team, client: reader.client });
  await openTable(readers, 'renamed');
  expect(await readers.locator('.page-head button').allInnerTexts()).toEqual(['Export']);

  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Delete table' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'There is no table yet' }).waitFor();
});

test('a table, or what is shown of it, is saved as a file', async () => {
  await tablog().createTable({ name: 'saved', rows: [{ n: 2 }, { n: 1 }] });
  const page = await signedIn(null);
  // Whatever a browser has for it, this works in all of them.
  await page.evaluate('delete window.showSaveFilePicker');
  await openTable(page, 'saved');
  await page.locator('.ag-header-cell[col-id=n] .ag-header-cell-text').click();
  await cell(page, 0, 'n').getByText('1').waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByLabel('Format').selectOption('ndjson');
  const begun = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save' }).click();
  const download = await begun;
  expect(download.suggestedFilename()).toBe('saved.ndjson');
  const pieces: Buffer[] = [];
  for await (const piece of await download.createReadStream()) pieces.push(piece as Buffer);
  expect(
    Buffer.concat(pieces)
      .toString()
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { n: number }).n),
  ).toEqual([1, 2]);
});
