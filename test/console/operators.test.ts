import { expect, test } from '@jest/globals';
import { look, untilPasses, useConsole } from './browser.ts';

const { api, open } = useConsole();

test('an operator makes a team and tokens, sets its plan, suspends it, and sees the log', async () => {
  const { client } = await api().createOperatorToken();
  const page = await open();
  await page.goto(`${api().url}/#token=${client.token}`);
  await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor();
  await look(page, 'teams');
  await page.getByRole('button', { name: 'New team' }).click();
  await page.getByLabel('Name').fill('acme');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'acme' }).waitFor();

  await page.getByRole('button', { name: 'Plan' }).click();
  await page.getByLabel('Rows').fill('1000');
  await page.getByLabel('Bytes of files').fill('10000000000');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: 'Rows 0 1,000' }).waitFor();
  // A limit is shown exactly.
  await page.getByRole('row', { name: 'Bytes of files 0 bytes 10 GB' }).waitFor();

  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByLabel('Name').fill('shop');
  await page.getByLabel('For reading only').check();
  await page.getByRole('button', { name: 'Create' }).click();
  const link = await page.getByLabel('Link to the console').inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: 'shop active, for reading' }).waitFor();
  await look(page, 'team');

  const teams = await open();
  await teams.goto(link);
  await teams.getByText('acme').waitFor();
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByText('Suspended: the service refuses its requests').waitFor();
  await teams.getByRole('link', { name: 'Activity' }).click();
  await teams.getByText('The team is suspended.').waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Suspend' }).waitFor();
  for (let n = 0; n < 2; n += 1) {
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'Done' }).click();
  }
  const unnamed = page.getByRole('rowheader', { name: /^made \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, ends in .{6}$/ });
  await untilPasses(async () => expect(await unnamed.count()).toBe(2));
  expect(new Set(await unnamed.allInnerTexts()).size).toBe(2);
  await look(page, 'unnamed-tokens');
  const second = await unnamed.last().innerText();
  await page.getByRole('button', { name: `Revoke ${second}` }).click();
  await page
    .getByRole('dialog', { name: `Revoke ${second}?` })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await page.getByRole('row', { name: `${second} revoked` }).waitFor();
  await page.getByRole('button', { name: 'Revoke shop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('row', { name: 'shop revoked' }).waitFor();

  await page.getByRole('link', { name: 'Log', exact: true }).click();
  await page.getByText('No team is in quarantine.').waitFor();
  await page.getByRole('row', { name: /^0 running 0/ }).waitFor();
  await look(page, 'log');
  await page.getByRole('link', { name: 'Tokens' }).click();
  await page.getByRole('row', { name: /^test active/ }).waitFor();
  expect(await page.getByRole('link', { name: 'Query' }).count()).toBe(0);
  await look(page, 'operator-tokens');
});
