import { expect, test } from '@jest/globals';
import { Tablog } from '../../clients/typescript/src/index.ts';
import { look, untilPasses, useConsole } from './browser.ts';

const { api, client, open } = useConsole();

test('a link with a token signs in, and leaves no token in the address', async () => {
  const page = await open();
  await page.goto(`${api().url}/#token=${client().token}`);
  await page.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  expect(page.url()).toBe(`${api().url}/#/`);
  await look(page, 'empty');
  await page.reload();
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
});

test('a new tab has the session of an open one; who signs out of one has signed out of all; nothing is kept when all are closed', async () => {
  const page = await open();
  await page.goto(`${api().url}/#token=${client().token}`);
  await page.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  const other = await page.context().newPage();
  await other.goto(api().url);
  await other.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  // It does not need the first one any more.
  await page.close();
  await other.reload();
  await other.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  const third = await other.context().newPage();
  await third.goto(api().url);
  await third.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  await third.getByRole('button', { name: 'Sign out' }).click();
  for (const tab of [third, other]) {
    await tab.getByLabel('Access token').waitFor();
    await tab.reload();
    await tab.getByLabel('Access token').waitFor();
  }

  await other.goto(`${api().url}/#token=${client().token}`);
  await other.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  // A tab in which somebody has signed out waits for somebody to sign in there.
  await third.reload();
  await third.getByLabel('Access token').waitFor();
  await third.close();
  const context = other.context();
  await other.close();
  const last = await context.newPage();
  await last.goto(api().url);
  await last.getByLabel('Access token').waitFor();
  expect(await last.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([0, 0]);
});

test('who signs out of one team stays signed in to another one in another tab', async () => {
  const team = await api().createTeam();
  const page = await open();
  await page.goto(`${api().url}/#token=${client().token}`);
  await page.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${api().url}/#token=${team.client.token}`);
  await other.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByLabel('Access token').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'There is no table yet' }).waitFor();
});

test('a link that is followed in an open console signs in too, after a question, and leaves no token in the history', async () => {
  const other = await api().createTeam();
  await new Tablog({ url: api().url, token: other.client.token }).createTable({
    name: 'of the other',
    rows: [{ n: 1 }],
  });
  const page = await open();
  await page.goto(`${api().url}/#token=${client().token}`);
  await page.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  page.once('dialog', (question) => void question.dismiss());
  await page.goto(`${api().url}/#token=${other.client.token}`);
  await untilPasses(async () => expect(page.url()).toBe(`${api().url}/#/`));
  await page.getByRole('heading', { name: 'There is no table yet' }).waitFor();
  page.once('dialog', (question) => void question.accept());
  await page.goto(`${api().url}/#token=${other.client.token}`);
  await page.getByText('of the other').waitFor();
  expect(page.url()).toBe(`${api().url}/#/`);
  await page.goBack();
  expect(page.url()).toBe(`${api().url}/#/`);
});

test('a link with a token that cannot be read asks for another one', async () => {
  const page = await open();
  await page.goto(`${api().url}/#token=%`);
  await page.getByLabel('Access token').waitFor();
});

test('a token that is typed can be kept on the device, until somebody signs out', async () => {
  const page = await open();
  await page.goto(api().url);
  await look(page, 'sign-in');
  await page.getByLabel('Access token').fill('of nobody');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The bearer token does not exist or is incorrect.').waitFor();
  await page.getByLabel('Access token').fill(client().token);
  await page.getByLabel('Keep it on this device').check();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
  const other = await page.context().newPage();
  await other.goto(api().url);
  await other.getByRole('heading', { name: 'Tables' }).waitFor();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByLabel('Access token').waitFor();
  await page.reload();
  await page.getByLabel('Access token').waitFor();
});

test('a token that ends while it is used ends the session, and the page says why', async () => {
  const team = await api().createTeam();
  const token = await team.createToken({});
  const page = await open();
  await page.goto(`${api().url}/#token=${token.client.token}`);
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
  await page.evaluate("sessionStorage.setItem('tablog.token', 'another')");
  await page.reload();
  await page.getByRole('alert').getByText('The bearer token does not exist or is incorrect.').waitFor();
});
