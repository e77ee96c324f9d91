/** A team has a maximum of open uploads (UPLOADS_OPEN_MAX). upload-life.test.ts tests uploads whose time is over. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { complete, postUpload, picture, sendBytes, upload, type CreatedUpload } from '../support/uploads.ts';

const openMax = 3;
const { api } = useOwnApi({ UPLOADS_OPEN_MAX: String(openMax) });
const refused = '400 limit_exceeded';

let team: Team;
const create = (headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  team.client.post('/apps/shop/uploads', picture, headers);

beforeEach(async () => {
  team = await api().createTeam();
});

test('exactly as many of several simultaneous creations succeed as may be open, for each team', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => create()));
  expect(answers.map(outcomeOf).toSorted()).toEqual([
    ...Array(openMax).fill('200'),
    ...Array(10 - openMax).fill(refused),
  ]);
  await postUpload((await api().createTeam()).client);
  expect(outcomeOf(await create())).toBe(refused);
});

test('a completed upload is no longer open', async () => {
  for (let files = 0; files < openMax + 2; files += 1) await upload(team.client, 'bytes');
  const created = await Promise.all(Array.from({ length: openMax }, () => postUpload(team.client)));
  expect(outcomeOf(await create())).toBe(refused);
  await sendBytes(created[0]!, 'bytes');
  // An upload that is completed twice makes room once.
  for (let times = 0; times < 2; times += 1) expect(outcomeOf(await complete(team.client, created[0]!))).toBe('200');
  expect([outcomeOf(await create()), outcomeOf(await create())]).toEqual(['200', refused]);
});

test('a repeated creation gets the first answer, and counts once', async () => {
  const key = { 'idempotency-key': 'the same' };
  for (let times = 0; times < openMax + 1; times += 1) expect(outcomeOf(await create(key))).toBe('200');
  expect([outcomeOf(await create()), outcomeOf(await create()), outcomeOf(await create())]).toEqual([
    '200',
    '200',
    refused,
  ]);
  expect(outcomeOf(await create(key))).toBe('200');
});

describe('what is given up is open no more:', () => {
  let created: CreatedUpload;

  beforeEach(async () => {
    created = await postUpload(team.client);
    await sendBytes(created, 'bytes');
    for (let others = 1; others < openMax; others += 1) await postUpload(team.client);
    expect(outcomeOf(await create())).toBe(refused);
  });

  test('an upload that exceeds the plan is withdrawn', async () => {
    await team.setPlan({ uploadBytesMax: 4 });
    for (const outcome of ['402 payment_required', '404 upload_not_found'])
      expect(outcomeOf(await complete(team.client, created))).toBe(outcome);
    expect([outcomeOf(await create()), outcomeOf(await create())]).toEqual(['200', refused]);
  });

  test('an upload stays open if its completion is refused to a suspended team', async () => {
    await team.suspend();
    expect(outcomeOf(await complete(team.client, created))).toBe('402 payment_required');
    await team.resume();
    expect(outcomeOf(await create())).toBe(refused);
  });
});
