/** Spec section 3, decisions 3: how long uploads and their files are there, and what becomes of their bytes. */
import { pino } from 'pino';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { checkUpload } from '../../commands/complete-upload.ts';
import { UploadQueries } from '../../projections/uploads/uploads.queries.ts';
import { newFileName } from '../../src/files/file-name.ts';
import { LocalFileStore } from '../../src/files/local-file-store.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { recordFact } from '../../src/record-fact.ts';
import { UploadUpkeep, type UploadUpkeepOptions } from '../../src/upload-upkeep.ts';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Client } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { stashOf } from '../support/stashes.ts';
import { createTable, type MadeTable } from '../support/tables.ts';
import { complete, createUpload, picture, sendBytes, upload } from '../support/uploads.ts';

const lifeMs = 2000;
const openMax = 20;
/** Upkeep is for the tests to do. */
const { api, client } = useApi({
  UPLOAD_LIFE_MS: String(lifeMs), UPLOAD_UNCLAIMED_LIFE_MS: String(lifeMs), UPKEEP_INTERVAL_MS: '3600000',
  UPLOADS_OPEN_MAX: String(openMax),
});

type File = Awaited<ReturnType<typeof upload>>;

let store: LocalFileStore;
const upkeeps: UploadUpkeep[] = [];

beforeAll(async () => {
  store = await LocalFileStore.open({ folder: api().filesFolder, keys: api().keys, publicUrl: null });
});

afterAll(async () => {
  for (const upkeep of upkeeps) await upkeep.close();
  await store?.close();
});

function newUpkeep(options: Partial<UploadUpkeepOptions> = {}): UploadUpkeep {
  const { log, database } = api().operator;
  const upkeep = new UploadUpkeep({ log, uploads: new UploadQueries(database), files: store, logger: pino({ level: 'silent' }), settleDelay: 0, ...options });
  upkeeps.push(upkeep);
  return upkeep;
}

/** All that is due now. The look at claims comes behind the end of what is over, so that no file ends at the time that its clock begins. */
async function keepUp(upkeep = newUpkeep()): Promise<void> {
  while (await upkeep.endDue());
  while (await upkeep.noteClaims());
  while (await upkeep.clear());
}

interface Row {
  /** Since when no row is known to name the file, until when it may be completed, and when it ended, in milliseconds of the log. */
  readonly since: number | null;
  readonly expires: number;
  readonly removed: number | null;
  readonly cleared: boolean;
}

async function rowOf({ id }: { readonly id: string }): Promise<Row> {
  const { rows: [row] } = await api().operator.database.pool.query<Row>(
    `select unclaimed_since::float8 as since, expires_at::float8 as expires, removed_at::float8 as removed, cleared
      from uploads where id = $1`, [id],
  );
  return row!;
}

/** Everything that the store holds. */
async function stored(): Promise<Set<string>> {
  const objects = await Array.fromAsync(store.list(Number.MAX_SAFE_INTEGER));
  return new Set(objects.map((object) => (object.kind === 'arrived' ? object.uploadId : object.name)));
}

const nameOf = ({ url }: Pick<File, 'url'>): string => new URL(url).pathname.split('/')[2]!;

async function statusOf({ url }: Pick<File, 'url'>): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

/** Does the upkeep until this upload, and with it every one whose time was over before, has ended. */
async function untilEnded(one: { readonly id: string }): Promise<void> {
  await sleepUntil(async () => {
    await keepUp();
    return (await rowOf(one)).cleared;
  }, `upload ${one.id} has ended`, 30_000);
}

/** Lets the time of a file without rows pass: of one that is younger than all that was uploaded before. Gives the log's time of its end. */
async function untilUnclaimedEnd(): Promise<number> {
  const file = await upload(client(), 'named by nobody');
  await untilEnded(file);
  return (await rowOf(file)).removed!;
}

test('an upload that is never completed ends, and its bytes are gone', async () => {
  const [sent, empty] = [await createUpload(client()), await createUpload(client())];
  expect(await sendBytes(sent, 'bytes')).toBe('200');
  expect(await stored()).toContain(sent.id);
  await untilEnded(empty);
  for (const one of [sent, empty]) {
    expect(outcomeOf(await complete(client(), one))).toBe('404 upload_not_found');
    // Its URL is as old as the upload.
    expect(await sendBytes(one, 'late')).toBe('403 forbidden');
  }
  const held = await stored();
  expect([held.has(sent.id), held.has(empty.id)]).toEqual([false, false]);
});

test('an upload cannot be completed after its time, also where nobody has said yet that it is over', async () => {
  const created = await createUpload(client());
  await sendBytes(created, 'bytes');
  const { expires } = await rowOf(created);
  await sleepUntil(() => api().operator.log.now() > expires + 100, 'the upload has expired');
  expect(outcomeOf(await complete(client(), created))).toBe('404 upload_not_found');
  expect((await rowOf(created)).removed).toBeNull();
  await untilEnded(created);
  expect(await stored()).not.toContain(created.id);
});

test('an upload is open until upkeep has seen that its time is over, and a team has at most so many of these', async () => {
  const { client: owner } = await api().createTeam();
  const created = [];
  while (created.length < openMax) created.push(await createUpload(owner));
  const next = await owner.post('/apps/shop/uploads', picture);
  expect([outcomeOf(next), next.json.error.message]).toEqual([
    '400 limit_exceeded', `the team has ${openMax} open uploads and may have at most ${openMax}: complete them, or wait until they expire`,
  ]);
  await untilEnded(created.at(-1)!);
  const answers = await Promise.all(Array.from({ length: openMax + 5 }, () => owner.post('/apps/shop/uploads', picture)));
  expect(answers.map(outcomeOf).toSorted()).toEqual([...Array(openMax).fill('200'), ...Array(5).fill('400 limit_exceeded')]);
});

test('a file that no row names is deleted after its time, and the plan has room again', async () => {
  const team = await api().createTeam();
  await team.setPlan({ uploadBytesMax: 10 });
  const file = await upload(team.client, '12345678');
  const { since } = await rowOf(file);
  const refused = await createUpload(team.client);
  await sendBytes(refused, '12345678');
  expect(outcomeOf(await complete(team.client, refused))).toBe('402 payment_required');
  expect(await stored()).toContain(nameOf(file));
  await untilEnded(file);
  expect((await rowOf(file)).removed! - since!).toBeGreaterThanOrEqual(lifeMs);
  expect(await statusOf(file)).toBe(404);
  expect(outcomeOf(await complete(team.client, file))).toBe('404 upload_not_found');
  const held = await stored();
  expect([nameOf(file), file.id, refused.id].filter((name) => held.has(name))).toEqual([]);
  await upload(team.client, '1234567890');
});

/** How a row comes to name a file. */
const claims: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'a row of a body': (url) => createTable(client(), [{ n: 'other' }, { n: url }], { n: 'string' }),
  'a row of a table without a schema': (url) => createTable(client(), [{ anything: url }]),
  'a column of URIs': (url) => createTable(client(), [{ n: url }], { n: 'uri' }),
  'a column of images': (url) => createTable(client(), [{ n: url }], { n: 'imageURI' }),
  'an element of a list': (url) => createTable(client(), [{ n: ['https://example.org/a', url] }], { n: { kind: 'array', items: { kind: 'uri' } } }),
  'JSON in a cell': (url) => createTable(client(), [{ n: { deep: [{ in: url }] } }], { n: 'json' }),
  'a text around it': (url) => createTable(client(), [{ n: `see ${url}?x=1#y for more` }], { n: 'markdown' }),
  'a row that was added': async (url) => {
    const { path } = await createTable(client(), [], { n: 'string' });
    await expectDone(client().post(path, [{ n: url }]));
  },
  'a row of CSV': async (url) => {
    const { path } = await createTable(client(), [], { n: 'string' });
    await expectDone(client().post(path, `n\n${url}\n`, { 'content-type': 'text/csv' }));
  },
  'a row of a stash that was imported': async (url) => {
    const stashId = await stashOf(client(), { 1: [{ n: 'other' }], 2: [{ n: url }] });
    await expectDone(client().post('/tables', { name: 'n', rows: { $stashID: stashId } }));
  },
  'a row of a stash of CSV that was imported': async (url) => {
    const stashId = await stashOf(client(), { 1: `n\n${url}\n` });
    await expectDone(client().post('/tables', { name: 'n', rows: { $stashID: stashId } }));
  },
  'a row that was patched': async (url) => {
    const table = await createTable(client(), [{ n: 'other' }], { n: 'string' });
    await expectDone(client().patch(`${table.path}/${table.rowIds[0]}`, { n: url }));
  },
  'a row of a table that was overwritten': async (url) => {
    const { id } = await createTable(client(), [{ n: 'other' }], { n: 'string' });
    await expectDone(client().put(`/tables/${id}`, [{ n: url }]));
  },
};

async function expectDone(asked: ReturnType<Client['get']>): Promise<void> {
  const answer = await asked;
  if (answer.status >= 300) throw new Error(`${outcomeOf(answer)} ${answer.text}`);
}

test('a file that a row names stays, however it came to that', async () => {
  const files = new Map<string, File>();
  for (const [how, claim] of Object.entries(claims)) {
    const file = await upload(client(), how);
    await claim(file.url);
    files.set(how, file);
  }
  await untilUnclaimedEnd();
  for (const [how, file] of files) {
    const response = await fetch(file.url);
    expect([how, response.status, await response.text()]).toEqual([how, 200, how]);
    expect([how, (await rowOf(file)).since]).toEqual([how, null]);
  }
});

/** How the only row of a table ceases to name a file. */
const releases: Readonly<Record<string, (table: MadeTable) => Promise<unknown>>> = {
  'by a patch': ({ path, rowIds }) => expectDone(client().patch(`${path}/${rowIds[0]}`, { n: 'other' })),
  'by an empty cell': ({ path, rowIds }) => expectDone(client().patch(`${path}/${rowIds[0]}`, { n: null })),
  'when the row is deleted': ({ path, rowIds }) => expectDone(client().delete(`${path}/${rowIds[0]}`)),
  'when the table is overwritten': ({ id }) => expectDone(client().put(`/tables/${id}`, [{ n: 'other' }])),
  'when the table is deleted': ({ id }) => expectDone(client().delete(`/tables/${id}`)),
};

test('a file that no row names any more has its whole time again, and is deleted after it', async () => {
  const released = new Map<string, { readonly file: File; readonly table: MadeTable }>();
  for (const how of Object.keys(releases)) {
    const file = await upload(client(), how);
    released.set(how, { file, table: await createTable(client(), [{ n: file.url }], { n: 'string' }) });
  }
  const namedUntil = await untilUnclaimedEnd();
  for (const { file } of released.values()) expect((await rowOf(file)).since).toBeNull();
  for (const [how, release] of Object.entries(releases)) await release(released.get(how)!.table);
  await keepUp();
  const since = new Map<string, number>();
  for (const [how, { file }] of released) {
    since.set(how, (await rowOf(file)).since!);
    expect([how, since.get(how)! >= namedUntil]).toEqual([how, true]);
  }
  for (const [how, { file }] of released) {
    await untilEnded(file);
    expect([how, await statusOf(file)]).toEqual([how, 404]);
    expect((await rowOf(file)).removed! - since.get(how)!).toBeGreaterThanOrEqual(lifeMs);
    expect(await stored()).not.toContain(nameOf(file));
  }
});

test('a row that is left names the file as well as one that is gone', async () => {
  const file = await upload(client(), 'bytes');
  const { path, rowIds } = await createTable(client(), [{ n: file.url }, { n: file.url }], { n: 'string' });
  await expectDone(client().delete(`${path}/${rowIds[0]}`));
  await untilUnclaimedEnd();
  expect(await statusOf(file)).toBe(200);
});

test('a row of another team keeps no file', async () => {
  const file = await upload(client(), 'bytes');
  const stranger = await api().createTeam();
  await createTable(stranger.client, [{ n: file.url }], { n: 'string' });
  await untilEnded(file);
  expect(await statusOf(file)).toBe(404);
});

test('a stash that was never imported keeps no file', async () => {
  const file = await upload(client(), 'bytes');
  await stashOf(client(), { 1: [{ n: file.url }] });
  await untilEnded(file);
  expect(await statusOf(file)).toBe(404);
});

test('what several say at once counts once', async () => {
  const team = await api().createTeam();
  await team.setPlan({ uploadBytesMax: 300 });
  const files: File[] = [];
  // So many that it is done in several steps.
  for (let count = 0; count < 30; count += 1) files.push(await upload(team.client, '0123456789'));
  const full = await createUpload(team.client);
  await sendBytes(full, '0');
  expect(outcomeOf(await complete(team.client, full))).toBe('402 payment_required');
  const upkeepOfAll = [newUpkeep(), newUpkeep(), newUpkeep()];
  await sleepUntil(async () => {
    await Promise.all(upkeepOfAll.map(keepUp));
    return (await rowOf(files.at(-1)!)).cleared;
  }, 'all files have ended', 30_000);
  for (const file of files) expect((await rowOf(file)).removed).not.toBeNull();
  const { rows } = await api().operator.database.pool.query('select upload_bytes::float8 as bytes from teams where id = $1', [team.id]);
  expect(rows).toEqual([{ bytes: 0 }]);
});

test('what is said too early, or of another team, changes nothing', async () => {
  const { log } = api().operator;
  const [open, file] = [await createUpload(client()), await upload(client(), 'bytes')];
  await sendBytes(open, 'bytes');
  const before = [await rowOf(open), await rowOf(file)];
  const early = newUpkeep({ settleDelay: -60_000 });
  // It is not said without end either.
  expect(await early.endDue()).toBe(false);
  const stranger = await api().createTeam();
  for (const { id } of [open, file]) await recordFact(log, checkUpload(stranger.id, id));
  expect([await rowOf(open), await rowOf(file)]).toEqual(before);
  expect(outcomeOf(await complete(client(), open))).toBe('200');
  expect(await statusOf(file)).toBe(200);
});

test('removing bytes is safe to repeat', async () => {
  const [file, kept] = [await upload(client(), 'bytes'), await upload(client(), 'kept')];
  await createTable(client(), [{ n: kept.url }], { n: 'string' });
  await untilEnded(file);
  const { pool } = api().operator.database;
  await pool.query('update uploads set cleared = false where removed_at is not null');
  const upkeepOfAll = [newUpkeep(), newUpkeep()];
  await Promise.all(upkeepOfAll.map(async (upkeep) => {
    while (await upkeep.clear());
  }));
  expect((await rowOf(file)).cleared).toBe(true);
  expect(await statusOf(file)).toBe(404);
  expect(await statusOf(kept)).toBe(200);
});

describe('bytes that are nobody\'s', () => {
  /** A sealed file that no upload knows, what arrived for a completed upload and for one that never was, and what a cut write left. */
  async function leaveOrphans(file: File): Promise<readonly string[]> {
    const unknown = randomUUID();
    await store.receive(unknown, (async function* () {
      yield Buffer.from('bytes');
    })(), 10);
    const name = newFileName();
    expect(await store.seal({ uploadId: unknown }, name)).toEqual({ size: 5 });
    const temporary = randomUUID();
    await writeFile(join(api().filesFolder, 'temporary', temporary), 'cut');
    return [unknown, name, temporary, file.id];
  }

  const sweep = async (options: Partial<UploadUpkeepOptions>): Promise<void> => {
    const upkeep = newUpkeep(options);
    while (await upkeep.sweepOrphans());
  };

  test('are removed when they are old, and nothing else', async () => {
    const file = await upload(client(), 'bytes');
    await createTable(client(), [{ n: file.url }], { n: 'string' });
    const orphans = await leaveOrphans(file);
    const open = await createUpload(client());
    await sendBytes(open, 'on their way');
    const left = async (): Promise<readonly string[]> => {
      const held = await stored();
      return orphans.filter((name) => held.has(name));
    };
    await sweep({});
    expect(await left()).toEqual(orphans);
    const { log } = api().operator;
    const behind: Pick<EventLog, 'bounds'> = {
      bounds: async (partition) => {
        const bounds = await log.bounds(partition);
        return { ...bounds, end: bounds.end + 1n };
      },
    };
    // The read model is behind the log, which may know more.
    await sweep({ orphanAge: -60_000, log: behind as EventLog });
    expect(await left()).toEqual(orphans);
    await sweep({ orphanAge: -60_000 });
    expect(await left()).toEqual([]);
    expect(await statusOf(file)).toBe(200);
    expect(outcomeOf(await complete(client(), open))).toBe('200');
    expect(new URL((await complete(client(), file)).json.data.url).pathname).toBe(new URL(file.url).pathname);
  });
});
