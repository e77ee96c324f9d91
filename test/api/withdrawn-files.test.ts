/**
 * Withdrawing files: the rights it needs, and its responses (decisions 3). upload-life.test.ts tests that the bytes are
 * removed.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { unknownTableId } from '../support/tables.ts';
import { statusOf } from '../support/upload-life.ts';
import { postUpload, sendBytes, upload, withdraw } from '../support/uploads.ts';

const { api } = useOwnApi({ FILES_CACHE_SECONDS: '7' });
const notFound = '404 upload_not_found';
const answered = { status: 200, text: '{}' };

let team: Team;
beforeAll(async () => {
  team = await api().createTeam();
});

test('a file is withdrawn once', async () => {
  const file = await upload(team.client, 'bytes');
  expect(await withdraw(team.client, file)).toMatchObject(answered);
  expect(await statusOf(file)).toBe(404);
  expect(outcomeOf(await withdraw(team.client, file))).toBe(notFound);
});

test('bytes for an upload that was given up are refused', async () => {
  const created = await postUpload(team.client);
  expect(await withdraw(team.client, created)).toMatchObject(answered);
  expect(await sendBytes(created, 'bytes')).toBe(notFound);
});

test('one of several simultaneous withdrawals finds the file', async () => {
  const file = await upload(team.client, 'bytes');
  const outcomes = await Promise.all(
    Array.from({ length: 6 }, async () => outcomeOf(await withdraw(team.client, file))),
  );
  expect(outcomes.toSorted()).toEqual(['200', ...Array(5).fill(notFound)]);
});

test('a repeated completion under a key gets the first answer, even if the file is withdrawn', async () => {
  const file = await postUpload(team.client);
  await sendBytes(file, 'bytes');
  const complete = (key: string): Promise<Answer> =>
    team.client.post(`/apps/shop/uploads/${file.id}/complete`, undefined, { 'idempotency-key': key });
  const first = await complete('first');
  expect(first.status).toBe(200);
  await withdraw(team.client, file);
  expect(await complete('first')).toMatchObject({ status: 200, json: first.json });
  expect(outcomeOf(await complete('second'))).toBe(notFound);
});

test('a repeated withdrawal under a key gets the first answer', async () => {
  const key = { 'idempotency-key': 'the same' };
  const file = await upload(team.client, 'bytes');
  for (let times = 0; times < 2; times += 1) expect(await withdraw(team.client, file, key)).toMatchObject(answered);
  const other = await upload(team.client, 'bytes');
  // A key applies to one path only.
  expect(await withdraw(team.client, other, key)).toMatchObject(answered);
});

test.each(['x', unknownTableId, unknownTableId.toUpperCase(), '%00'])('no upload has the ID %s', async (id) => {
  expect(outcomeOf(await withdraw(team.client, { id }))).toBe(notFound);
});

describe('a file is not withdrawn', () => {
  test('by another team, or through another app', async () => {
    const file = await upload(team.client, 'bytes');
    const stranger = await api().createTeam();
    expect(outcomeOf(await withdraw(stranger.client, file))).toBe(notFound);
    expect(outcomeOf(await withdraw(team.client, file, {}, 'other'))).toBe(notFound);
    expect(await statusOf(file)).toBe(200);
  });

  test('with a token for reading only, or for another app', async () => {
    const file = await upload(team.client, 'bytes');
    const [reading, ofOther, ofShop] = await Promise.all([
      team.createToken({ readOnly: true }),
      team.createToken({ appId: 'other' }),
      team.createToken({ appId: 'shop' }),
    ]);
    expect(outcomeOf(await withdraw(reading.client, file))).toBe('403 forbidden');
    expect(outcomeOf(await withdraw(ofOther.client, file))).toBe('403 forbidden');
    expect(outcomeOf(await withdraw(ofOther.client, file, {}, 'other'))).toBe(notFound);
    expect(await statusOf(file)).toBe(200);
    expect(await withdraw(ofShop.client, file)).toMatchObject(answered);
  });

  test('while its team is suspended', async () => {
    const suspended = await api().createTeam();
    const file = await upload(suspended.client, 'bytes');
    await suspended.suspend();
    expect(outcomeOf(await withdraw(suspended.client, file))).toBe('402 payment_required');
    await suspended.resume();
    expect(await statusOf(file)).toBe(200);
    expect(await withdraw(suspended.client, file)).toMatchObject(answered);
  });
});

test('caches may keep a file for as long as the setting allows', async () => {
  const { url } = await upload(team.client, 'bytes');
  expect((await fetch(url, { method: 'HEAD' })).headers.get('cache-control')).toBe('public, max-age=7');
});
