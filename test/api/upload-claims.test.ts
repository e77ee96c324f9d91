/** Spec section 3, decisions 3: a file exists while a row of its team names it, and for some time after that. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LocalFileStore } from '../../src/storage/files/local-file-store.ts';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf, type Client } from '../support/client.ts';
import { csv } from '../support/media-types.ts';
import { useOperator } from '../support/operator.ts';
import { stashOf } from '../support/stashes.ts';
import { createTable, type MadeTable } from '../support/tables.ts';
import { lifeMs, lifeSettings, nameOf, statusOf, UploadLife, type File } from '../support/upload-life.ts';
import { upload } from '../support/uploads.ts';

const { api, client } = useOwnApi(lifeSettings);
const operator = useOperator({ api });
let life: UploadLife;

beforeAll(async () => {
  life = new UploadLife(
    api(),
    operator(),
    await LocalFileStore.open({ folder: api().filesFolder, keys: operator().keys, publicUrl: null }),
  );
});

afterAll(async () => {
  await life?.close();
});

/**
 * Lets the life of a file without rows pass, for a file that is younger than all earlier uploads. Returns the log time
 * of its end.
 */
async function untilUnclaimedEnd(): Promise<number> {
  const file = await upload(client(), 'named by nobody');
  await life.untilEnded(file);
  return (await life.rowOf(file)).removed!;
}

/** The ways in which a row comes to name a file. */
const claims: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'a row of a body': (url) => createTable(client(), [{ n: 'other' }, { n: url }], { n: 'string' }),
  'a row of a table without a schema': (url) => createTable(client(), [{ anything: url }]),
  'a column of URIs': (url) => createTable(client(), [{ n: url }], { n: 'uri' }),
  'a column of images': (url) => createTable(client(), [{ n: url }], { n: 'imageURI' }),
  'an element of a list': (url) =>
    createTable(client(), [{ n: ['https://example.org/a', url] }], { n: { kind: 'array', items: { kind: 'uri' } } }),
  'JSON in a cell': (url) => createTable(client(), [{ n: { deep: [{ in: url }] } }], { n: 'json' }),
  'a text around it': (url) => createTable(client(), [{ n: `see ${url}?x=1#y for more` }], { n: 'markdown' }),
  'a row that was added': async (url) => {
    const { path } = await createTable(client(), [], { n: 'string' });
    await expectDone(client().post(path, [{ n: url }]));
  },
  'a row of CSV': async (url) => {
    const { path } = await createTable(client(), [], { n: 'string' });
    await expectDone(client().post(path, `n\n${url}\n`, csv));
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

test('a file that a row names stays, whatever kind of write made the row', async () => {
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
    expect([how, (await life.rowOf(file)).since]).toEqual([how, null]);
  }
});

/** The ways in which the only row of a table stops naming a file. */
const releases: Readonly<Record<string, (table: MadeTable) => Promise<unknown>>> = {
  'by a patch': ({ path, rowIds }) => expectDone(client().patch(`${path}/${rowIds[0]}`, { n: 'other' })),
  'by an empty cell': ({ path, rowIds }) => expectDone(client().patch(`${path}/${rowIds[0]}`, { n: null })),
  'when the row is deleted': ({ path, rowIds }) => expectDone(client().delete(`${path}/${rowIds[0]}`)),
  'when the table is overwritten': ({ id }) => expectDone(client().put(`/tables/${id}`, [{ n: 'other' }])),
  'when the table is deleted': ({ id }) => expectDone(client().delete(`/tables/${id}`)),
};

test('a file that no row names any more has its full life again, and is then deleted', async () => {
  const released = new Map<string, { readonly file: File; readonly table: MadeTable }>();
  for (const how of Object.keys(releases)) {
    const file = await upload(client(), how);
    released.set(how, { file, table: await createTable(client(), [{ n: file.url }], { n: 'string' }) });
  }
  const namedUntil = await untilUnclaimedEnd();
  for (const { file } of released.values()) expect((await life.rowOf(file)).since).toBeNull();
  for (const [how, release] of Object.entries(releases)) await release(released.get(how)!.table);
  await life.keepUp();
  const since = new Map<string, number>();
  for (const [how, { file }] of released) {
    since.set(how, (await life.rowOf(file)).since!);
    expect([how, since.get(how)! >= namedUntil]).toEqual([how, true]);
  }
  for (const [how, { file }] of released) {
    await life.untilEnded(file);
    expect([how, await statusOf(file)]).toEqual([how, 404]);
    expect((await life.rowOf(file)).removed! - since.get(how)!).toBeGreaterThanOrEqual(lifeMs);
    expect(await life.stored()).not.toContain(nameOf(file));
  }
});

test('a file stays while one of two rows that name it remains', async () => {
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
  await life.untilEnded(file);
  expect(await statusOf(file)).toBe(404);
});

test('a stash that was never imported keeps no file', async () => {
  const file = await upload(client(), 'bytes');
  await stashOf(client(), { 1: [{ n: file.url }] });
  await life.untilEnded(file);
  expect(await statusOf(file)).toBe(404);
});
