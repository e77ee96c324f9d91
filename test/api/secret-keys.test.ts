/**
 * A key that is removed, as clients see it (docs/operate/deploy.md, "Keys"). Processes read the keys again every ten
 * seconds.
 */
import { expect, test } from '@jest/globals';
import { removeSecretKey, rotateSecretKey } from '../../src/storage/security/secret-keys.ts';
import { useOwnApi } from '../support/api.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { postUpload, sendBytes } from '../support/uploads.ts';

const { api } = useOwnApi({ ASYNC_WAIT_MS: '0' });
const operator = useOperator({ api });

test('every process refuses what a removed key signed, and accepts what the next key signs', async () => {
  const { client } = await api().createTeam();
  const { token } = client;
  const accepted = await client.post('/tables', { name: 'n', rows: [] }, { 'x-service-asynchronous': 'true' });
  const { jobID } = accepted.json.data;
  const created = new URL((await postUpload(client)).location);
  const urls = api()
    .processes.filter(({ role }) => role !== 'projector')
    .map(({ url }) => url);
  const jobs = (): Promise<string[]> =>
    Promise.all(urls.map(async (url) => outcomeOf(await new Client(url, token).get(`/jobs/${jobID}`))));
  const uploads = (): Promise<string[]> => {
    return Promise.all(
      urls.map((url) => sendBytes({ location: `${url}${created.pathname}${created.search}` }, 'bytes')),
    );
  };
  const all = (outcome: string): string[] => urls.map(() => outcome);
  expect([await jobs(), await uploads()]).toEqual([all('200'), all('200')]);

  const { pool } = operator().database;
  expect([await rotateSecretKey(pool, 0), await removeSecretKey(pool, 1, 0)]).toEqual([
    { id: 2, state: 'current' },
    'removed',
  ]);
  await sleepUntil(async () => (await uploads()).every((outcome) => outcome === '403 forbidden'), 'the URL is refused');
  expect([await uploads(), await jobs()]).toEqual([all('403 forbidden'), all('404 job_not_found')]);

  for (const url of urls) {
    const next = await postUpload(new Client(url, token));
    expect(new URL(next.location).searchParams.get('keyID')).toBe('2');
    expect(await sendBytes(next, 'bytes')).toBe('200');
  }
});
