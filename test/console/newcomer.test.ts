/** A newcomer's minute: from the first start to the rows of a file. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { cell, useBrowser } from './browser.ts';

const run = promisify(execFile);
const open = useBrowser();
const cars = join(import.meta.dirname, '../../node_modules/vega-datasets/data/cars.json');

let server: TestServer | undefined;

afterAll(() => server?.stop());

test("the command that the first start prints makes a link, which leads to a file of one's own in three clicks", async () => {
  const began = performance.now();
  const seconds = (): string => ((performance.now() - began) / 1000).toFixed(1);
  server = await startServer();
  // A terminal shows the link itself; here the output is a pipe.
  const command = (): string | undefined => /echo "http:\S+\/#token=.*"/.exec(server!.output())?.[0];
  await sleepUntil(async () => command() !== undefined, 'the command is printed');
  const link = (await run('/bin/sh', ['-c', command()!])).stdout.trim();
  const started = seconds();

  const page = await open();
  await page.goto(link);
  let clicks = 0;
  const click = async (role: 'button' | 'link', name: string): Promise<void> => {
    clicks += 1;
    await page.getByRole(role, { name, exact: true }).click();
  };
  const chooser = page.waitForEvent('filechooser');
  await click('button', 'Import a file');
  await (await chooser).setFiles(cars);
  await page.getByRole('columnheader', { name: 'Horsepower number' }).waitFor();
  await click('button', 'Import');
  await click('link', 'Show the table');
  await cell(page, 0, 'Name').getByText('chevrolet chevelle malibu').waitFor();
  expect(clicks).toBe(3);
  process.stderr.write(
    `From the first start to the rows of a file: ${clicks} clicks, ${seconds()} s, of which the start took ${started}.\n`,
  );
});
