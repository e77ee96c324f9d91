import { expect, test } from '@jest/globals';
import { isFull } from '../scale.ts';
import { look, takePicture, useConsole } from './browser.ts';

const { tablog, signedIn } = useConsole();

test('SQL is completed, answered as a table and as a chart, and kept in the address', async () => {
  await tablog().createTable({
    name: 'sales',
    rows: [
      { region: 'north', amount: 1 },
      { region: 'north', amount: 2 },
      { region: 'south', amount: 5 },
    ],
  });
  const page = await signedIn(null);
  await page.getByRole('link', { name: 'sales' }).waitFor();
  await page.getByRole('link', { name: 'Query' }).click();
  await page.getByLabel('SQL').click();
  await page.keyboard.type('SELECT region, sum(amo');
  await page.getByRole('option', { name: 'amount' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+A');
  await page.keyboard.type(
    "SELECT region, sum(amount) AS total FROM sales WHERE region <> '100%/' GROUP BY region ORDER BY total",
  );
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('gridcell', { name: 'south' }).waitFor();
  await look(page, 'query');
  await page.getByLabel('Chart').check();
  await page.getByRole('img', { name: 'total by region' }).waitFor();
  const legend = page.locator('.u-legend');
  expect((await legend.innerText()).trim()).toBe('total');
  await page.locator('.u-over').hover();
  await legend.getByText('region').waitFor();
  expect(await legend.innerText()).toMatch(/^region\s*(north|south)\s*total\s*[35]\s*$/);
  await look(page, 'chart');
  await page.reload();
  await page.getByRole('gridcell', { name: 'south' }).waitFor();
  expect(await page.getByLabel('SQL').innerText()).toContain("region <> '100%/'");
  await tablog().createTable({ name: 'points', rows: Array.from({ length: 5001 }, (_, x) => ({ x, y: x % 7 })) });
  await page.getByLabel('SQL').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('SELECT x, y FROM points');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Enter');
  await page.getByText('5,001 rows in').waitFor();
  await page.getByLabel('Chart').check();
  await page.getByText('First 5,000 rows of 5,001. Group rows in the query to draw all.').waitFor();
  await look(page, 'chart-left-out');
  await page.getByLabel('SQL').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('SELECT * FROM nowhere');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('alert').getByText('nowhere').waitFor();
});

test('SQL of a link is shown, and runs at a click only', async () => {
  const page = await signedIn(null);
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') asked.push(request.url());
  });
  await page.evaluate(`location.hash = '/query/' + encodeURIComponent("SELECT 'of a link' AS text")`);
  await page.getByText('This query comes from a link, and has not run yet.').waitFor();
  await page.getByLabel('SQL').getByText('of a link').waitFor();
  await look(page, 'query-of-link');
  expect(asked).toEqual([]);
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('gridcell', { name: 'of a link' }).waitFor();
  expect(asked.length).toBe(1);
  expect(await page.getByText('This query comes from a link').count()).toBe(0);
  // The person has run it here.
  await page.reload();
  await page.getByRole('gridcell', { name: 'of a link' }).waitFor();
  await page.evaluate(`location.hash = '/query/SELECT%20another'`);
  await page.getByText('This query comes from a link').waitFor();
  await page.goBack();
  await page.getByRole('gridcell', { name: 'of a link' }).waitFor();
});

test('the editor completes words of the SQL that the service answers, and types over what is chosen', async () => {
  const page = await signedIn(null);
  await page.getByRole('link', { name: 'Query' }).click();
  await page.getByLabel('SQL').click();
  await page.keyboard.type('SELECT a');
  await page.getByRole('option', { name: 'avg' }).waitFor();
  const options = await page.getByRole('option').allInnerTexts();
  expect(options).toEqual(expect.arrayContaining(['AND', 'amount']));
  for (const word of ['ABORT', 'ACCESS', 'ALTER', 'AGGREGATE']) expect(options).not.toContain(word);
  await takePicture(page, 'query-completion');
  await page.keyboard.press('Escape');
  // The policy of the page forbids what Chromium would do here by itself.
  await page.keyboard.press('Control+A');
  await page.keyboard.type('VALUES (1)');
  expect(await page.getByLabel('SQL').innerText()).toBe('VALUES (1)');
  await page.keyboard.press('Control+Z');
  expect(await page.getByLabel('SQL').innerText()).not.toContain('VALUES (1)');
});

test('what the service does is shown', async () => {
  await tablog().createTable({ name: 'busy', rows: [{ n: 1 }] });
  const page = await signedIn(null);
  await page.getByRole('link', { name: 'Activity' }).click();
  await page.getByRole('img', { name: 'Requests per minute' }).waitFor();
  await page.getByText(/^Up to date \(version \d+\)\.$/).waitFor();
  await page.getByRole('rowheader', { name: 'Tables' }).waitFor();
  await look(page, 'activity');
});

const looks = [
  ['light', 1280],
  ['dark', 360],
  ['dark', 1280],
  ['light', 360],
] as const;

test.each(isFull ? looks : looks.slice(0, 2))(
  '%s, %i pixels wide: every page fits, and can be read',
  async (colorScheme, width) => {
    const page = await signedIn(null, { colorScheme, viewport: { width, height: 740 } });
    const [first] = await tablog().tables().toArray();
    for (const [name, path] of [
      ['tables', '/'],
      ['table', `/tables/${first!.id}`],
      ['query', '/query/SELECT%201%20AS%20one'],
      ['activity', '/activity'],
    ] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(path)}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.title()).toContain(' – Tablog');
      await page.waitForTimeout(500);
      expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(
        0,
      );
      await look(page, `${name}-${colorScheme}-${width}`);
    }
  },
);

test('the way back to the tables leads to what was searched for', async () => {
  const page = await signedIn(null);
  await page.getByLabel('Search tables').fill('SALE');
  await page.getByRole('link', { name: 'sales' }).click();
  await page.getByRole('heading', { name: 'sales' }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'sales' }).waitFor();
  expect(await page.getByLabel('Search tables').inputValue()).toBe('SALE');
  expect(await page.getByRole('link', { name: 'busy' }).count()).toBe(0);
});

test('all can be reached by the keyboard', async () => {
  const page = await signedIn(null);
  await page.getByRole('link', { name: 'sales' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('main');
  const reached = new Set<string>();
  for (let step = 0; step < 20; step += 1) {
    await page.keyboard.press('Tab');
    reached.add(
      await page.evaluate<string>(
        "document.activeElement.innerText || document.activeElement.getAttribute('aria-label') || ''",
      ),
    );
  }
  expect([...reached]).toEqual(
    expect.arrayContaining(['Search tables', 'New table', 'sales', 'Query', 'Activity', 'Sign out']),
  );
});
