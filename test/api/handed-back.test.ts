/**
 * Values that clients hand back or choose (IDs, continuations, versions, signatures), forged: each is accepted or
 * refused, and none makes the service fail.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { compactOnce } from '../../projections/tables/compaction.ts';
import { formatRowId } from '../../src/language/events/row-id.ts';
import { formatRowsContinuation, parseRowsContinuation } from '../../src/api/http/requests/continuation.ts';
import { useOwnApi } from '../support/api.ts';
import { useOperator } from '../support/operator.ts';
import { scale } from '../scale.ts';
import { fc, uncut } from '../support/property.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { fetchChecked } from '../support/interface-document.ts';
import { putChunks } from '../support/stashes.ts';
import { createTable, type MadeTable } from '../support/tables.ts';
import { postUpload, upload } from '../support/uploads.ts';

const { api, client } = useOwnApi({ MAINTENANCE_INTERVAL_MS: '3600000' });
const operator = useOperator({ api });

/** Its extents are in one segment: all but the first begin in the middle of the segment. */
let table: MadeTable;
let places: { readonly version: bigint; readonly ordinal: number }[];

beforeAll(async () => {
  table = await createTable(client(), [], { n: 'number' });
  await putChunks(
    client(),
    'merged',
    Array.from({ length: 20 }, (_, n) => [String(n), [{ n }, { n }]] as const),
  );
  const added = await client().post(table.path, { $stashID: 'merged' });
  const { database } = operator();
  let isCompact = false;
  while (!isCompact) isCompact = !(await compactOnce(database));
  const { rows } = await database.pool.query('select max(first) as first from extents where table_id = $1', [table.id]);
  expect(rows[0].first).toBeGreaterThan(0);
  places = added.json.data.rowIDs.map((id: string) => {
    const bytes = Buffer.from(id, 'base64url');
    return { version: bytes.readBigUInt64BE(0), ordinal: bytes.readUInt32BE(8) };
  });
});

/** Texts that a header can contain. */
const headerText = fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).map((text) => text.trim());
/** Texts that a path can contain between two slashes. */
const segment = fc
  .oneof(fc.string({ unit: 'binary' }), fc.string(), fc.stringMatching(/^[\w-]{1,100}$/))
  .filter((text) => text.isWellFormed() && !/^\.{0,2}$/.test(text))
  .map(encodeURIComponent);
const int8 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(0n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n),
);
const int4 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1));
/** Places in the table and elsewhere. */
const anyPlace = fc.oneof(
  fc.record({ version: int8, ordinal: int4, index: int4 }),
  fc.record({ at: fc.nat(39), index: int4 }).map(({ at, index }) => ({ ...places[at]!, index })),
);
const rowId = fc.oneof(segment, anyPlace.map(formatRowId));
const versionTag = fc.oneof(
  headerText,
  fc.bigInt({ min: 0n, max: 2n ** 70n }).map((version) => `"${version}"`),
  fc.constant(`W/"${'9'.repeat(300)}"`),
);

/** Expects that the service does not fail. A halted partition would be a failure: its writes are refused with 503. */
function expectAnswered(...answers: readonly Answer[]): void {
  for (const { status, text } of answers) expect([status < 500, text]).toEqual([true, text]);
}

function forAll<T>(arbitrary: fc.Arbitrary<T>, send: (value: T) => Promise<unknown>): Promise<void> {
  return fc.assert(
    fc.asyncProperty(arbitrary, async (value) => {
      await send(value);
    }),
    { ...uncut, numRuns: scale.forgedValues },
  );
}

describe('a continuation', () => {
  test.each<[string, Partial<ReturnType<typeof parseRowsContinuation>>]>([
    ['a generation beyond 64 bits with a sign', { generation: 2n ** 63n }],
    ['a version beyond 64 bits with a sign', { version: 2n ** 63n }],
    ['an ordinal beyond 32 bits with a sign', { ordinal: 2 ** 31 }],
    ['an index beyond 32 bits with a sign', { index: 2 ** 31 }],
    ['an index that no link can have', { index: 2 ** 31 - 1 }],
  ])('with %s is malformed', async (_, forged) => {
    const { json } = await client().get(`${table.path}?limit=31`);
    const real = parseRowsContinuation(table.id, json.continuation);
    const continuation = formatRowsContinuation(table.id, { ...real, ...forged });
    const answer = await client().get(`${table.path}?continuation=${continuation}`);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([
      '400 request_validation_error',
      'query.continuation: no page of this table has returned this continuation.',
    ]);
  });

  test('a continuation of any place is answered', async () => {
    const { json } = await client().get(`${table.path}?limit=1`);
    const { generation } = parseRowsContinuation(table.id, json.continuation);
    const forged = fc
      .tuple(fc.oneof(int8, fc.constant(generation)), anyPlace)
      .map(([generation, place]) => formatRowsContinuation(table.id, { generation, ...place }));
    await forAll(fc.oneof(segment, forged), async (continuation) => {
      expectAnswered(await client().get(`${table.path}?continuation=${continuation}&limit=1`));
    });
  });
});

test('a row ID', async () => {
  await forAll(rowId, async (id) => {
    const path = `${table.path}/${id}`;
    expectAnswered(await client().get(path), await client().patch(path, { n: 1 }));
    expectAnswered(await client().delete(path));
  });
});

test('a version', async () => {
  const [id] = (await client().post(table.path, [{ n: 1 }])).json.data.rowIDs;
  await forAll(versionTag, async (tag) => {
    const match = { 'if-match': tag };
    const none = { 'if-none-match': tag };
    expectAnswered(
      await client().patch(`${table.path}/${id}`, { n: 2 }, match),
      await client().delete(`${table.path}/AAAA`, match),
      await client().post(table.path, [], match),
      await client().patch(`/tables/${table.id}`, { name: 'x' }, match),
      await client().put('/tables/none', [], match),
      await client().delete('/tables/none', match),
      await client().get(`${table.path}/${id}`, none),
      await client().get(`${table.path}?limit=1`, none),
      await client().head(`/tables/${table.id}`, none),
    );
  });
});

test('the names of a table, an app and an upload', async () => {
  await forAll(segment, async (id) => {
    expectAnswered(
      await client().get(`/tables/${id}`),
      await client().post(`/tables/${id}/rows`, [{}]),
      await client().delete(`/tables/${id}`),
      await client().post(`/apps/${id}/uploads`, { contentType: 'image/png', fileName: 'a.png' }),
      await client().post(`/apps/shop/uploads/${id}/complete`, undefined),
    );
  });
});

test('a stash and its serials', async () => {
  const serial = fc.oneof(
    segment,
    fc.bigInt({ min: 0n, max: 10n ** 255n }).map(String),
    fc.stringMatching(/^[0-9]{1,256}$/),
  );
  await forAll(fc.tuple(fc.oneof(segment, fc.constant('fuzzed')), serial), async ([stash, place]) => {
    expectAnswered(await client().put(`/stashes/${stash}/${place}`, [{ n: 1 }]));
    expectAnswered(
      await client().post(table.path, { $stashID: stash }),
      await client().post(table.path, { $stashID: 'fuzzed' }),
    );
    if (stash !== 'fuzzed') expectAnswered(await client().delete(`/stashes/${stash}`));
  });
});

test('a job', async () => {
  const bytes = fc.uint8Array({ minLength: 60, maxLength: 80 }).map((raw) => Buffer.from(raw).toString('base64url'));
  const signed = fc
    .uint8Array({ minLength: 69, maxLength: 69 })
    .map((raw) => Buffer.from([2, 1, ...raw.subarray(2)]).toString('base64url'));
  await forAll(fc.oneof(segment, bytes, signed), async (id) => {
    expectAnswered(await client().get(`/jobs/${id}`), await client().get(`/jobs/${id}/progress`));
  });
});

test('a key', async () => {
  await forAll(headerText, async (key) => {
    const headers = { 'idempotency-key': key };
    expectAnswered(await client().post(table.path, [], headers), await client().delete(`${table.path}/AAAA`, headers));
  });
});

test('the address of an upload', async () => {
  const { location } = await postUpload(client());
  const { pathname, searchParams } = new URL(location);
  await forAll(
    fc.tuple(fc.constantFrom(...searchParams.keys()), fc.oneof(segment, fc.bigInt().map(String))),
    async ([name, value]) => {
      const query = new URLSearchParams(searchParams);
      query.set(name, value);
      const { status } = await fetch(`${api().url}${pathname}?${query}`, {
        method: 'PUT',
        body: 'x',
        headers: { 'content-type': 'image/png' },
      });
      expect(status).toBeLessThan(500);
    },
  );
});

test('a file and its parts', async () => {
  const { url } = await upload(client(), '0123456789');
  const { pathname } = new URL(url);
  await forAll(fc.tuple(segment, segment), async ([id, name]) => {
    expect((await fetchChecked(api().url, `/files/${id}/${name}`, {})).status).toBeLessThan(500);
  });
  const number = fc.oneof(fc.constant(''), fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String), fc.nat(12).map(String));
  const range = fc.oneof(
    headerText,
    fc.tuple(number, number).map(([first, last]) => `bytes=${first}-${last}`),
  );
  await forAll(range, async (value) => {
    expect((await fetchChecked(api().url, pathname, { headers: { range: value } })).status).toBeLessThan(500);
  });
});

test('a row ID in rows that overwrite', async () => {
  await forAll(rowId, async (id) => {
    expectAnswered(await client().put(`/tables/${table.id}`, [{ n: 1, $rowID: id }]));
  });
});
