/** Spec 4.10 and 4.11, decisions 3, 5 and 6: chunks of stashes, and the deletion of stashes. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { csv, tsv } from '../support/media-types.ts';
import { expectStored, newStashId, putChunks, stashOf } from '../support/stashes.ts';
import { exchangeRaw } from '../support/raw-http.ts';
import { cellsOf, createTable, leavingUnchanged } from '../support/tables.ts';

const { api, client } = useApi();
const malformed = '400 request_validation_error';
const noStash = '400 stash_not_found';

/** The rows of a new table that is created from a stash. */
async function rowsIn(stashId: string): Promise<Record<string, unknown>[]> {
  const answer = await client().post('/tables', { name: 'n', rows: { $stashID: stashId } });
  if (answer.status !== 201) throw new Error(answer.text);
  return cellsOf(await client().rows(answer.json.data.tableID));
}

async function expectNone(stashId: string): Promise<void> {
  expect(outcomeOf(await client().post('/tables', { name: 'n', rows: { $stashID: stashId } }))).toBe(noStash);
}

describe('names and serials', () => {
  const longest = `a${'-_0Z'.repeat(64)}`.slice(0, 256);

  test.each(['a', 'Z', '0', '007', 'a-', 'a_', '1-2_3', '9'.repeat(256), longest])('%.20s is valid', async (name) => {
    expectStored(await client().put(`/stashes/${name}/${name}`, [{ a: 1 }]));
    expect(await rowsIn(name)).toEqual([{ a: 1 }]);
    expectStored(await client().delete(`/stashes/${name}`));
    await expectNone(name);
  });

  test.each([
    '_a',
    '-a',
    'a.b',
    'a%20',
    '%20',
    'a%2Fb',
    '%2F',
    'a%00',
    'a:b',
    '%C3%A4',
    'a%',
    '%ZZ',
    '*',
    '$stashID',
    'a+b',
    `${longest}a`,
    'a'.repeat(5000),
  ])('%.20s is invalid', async (name) => {
    expect(outcomeOf(await client().put(`/stashes/${name}/1`, [{ a: 1 }]))).toBe(malformed);
    expect(outcomeOf(await client().put(`/stashes/x/${name}`, [{ a: 1 }]))).toBe(malformed);
    expect(outcomeOf(await client().delete(`/stashes/${name}`))).toBe(malformed);
    await expectNone('x');
  });

  test.each([
    ['GET', '/stashes/x/1', '405 method_not_allowed'],
    ['POST', '/stashes/x/1', '405 method_not_allowed'],
    ['DELETE', '/stashes/x/1', '405 method_not_allowed'],
    ['PUT', '/stashes/x', '405 method_not_allowed'],
    ['GET', '/stashes/x', '405 method_not_allowed'],
    ['GET', '/stashes', '404 not_found'],
    ['PUT', '/stashes/x/1/2', '404 not_found'],
  ])('%s %s is answered with %s', async (method, path, outcome) => {
    const answer = await client().send(path, { method, ...(method === 'GET' ? {} : { body: [] }) });
    expect(outcomeOf(answer)).toBe(outcome);
  });
});

describe('a chunk', () => {
  const text = JSON.stringify([{ a: 1 }]);

  test.each<[string, unknown, Record<string, string>, string]>([
    ['an object', { a: 1 }, {}, malformed],
    ['rows in an object', { rows: [{ a: 1 }] }, {}, malformed],
    ['a stash', { $stashID: 'x' }, {}, malformed],
    ['a number', '7', {}, malformed],
    ['null', 'null', {}, malformed],
    ['nothing', '', {}, malformed],
    ['nothing of CSV', '', csv, malformed],
    ['blanks', '  ', {}, malformed],
    ['an array that does not end', '[{"a":1}', {}, malformed],
    ['an array that goes on', `${text},`, {}, malformed],
    ['two arrays', `${text}${text}`, {}, malformed],
    ['an array of numbers', [1], {}, malformed],
    ['an array of arrays', [[{ a: 1 }]], {}, malformed],
    ['a null for a row', [{ a: 1 }, null], {}, malformed],
    ['a column twice', '[{"a":1,"a":2}]', {}, malformed],
    ['a nameless column', [{ '': 1 }], {}, malformed],
    ['no UTF-8', Buffer.from([0x5b, 0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x5d]), {}, malformed],
    ['a lone surrogate', '[{"a":"\\ud800"}]', {}, malformed],
    ['U+0000', '[{"a":"\\u0000"}]', {}, malformed],
    ['1e400', '[{"a":1e400}]', {}, malformed],
    ['a header with a column twice', 'a,a\n1,2', csv, '422 column_id_not_unique'],
    ['a longer line', 'a\n1,2', csv, malformed],
    ['a quote that does not end', 'a\n"1', csv, malformed],
    ['another media type', text, { 'content-type': 'text/plain' }, malformed],
    ['gzip that is none', text, { 'content-encoding': 'gzip' }, malformed],
    ['an unknown encoding', text, { 'content-encoding': 'compress' }, malformed],
    ['gzip cut short', gzipSync(text).subarray(0, -9), { 'content-encoding': 'gzip' }, malformed],
    ['a wide cell', [{ a: 'x'.repeat(262_145) }], {}, '400 limit_exceeded'],
    ['a long column ID', [{ ['x'.repeat(257)]: 1 }], {}, malformed],
  ])('may not be %s', async (_name, body, headers, outcome) => {
    const stashId = newStashId();
    expect(outcomeOf(await client().put(`/stashes/${stashId}/1`, body, headers))).toBe(outcome);
    await expectNone(stashId);
  });

  test('needs a media type, and accepts no other query parameter', async () => {
    const stashId = newStashId();
    const path = `/stashes/${stashId}/1`;
    expect(outcomeOf(await client().send(path, { method: 'PUT', body: Buffer.from(text), bare: true }))).toBe(
      malformed,
    );
    expect(outcomeOf(await client().put(`${path}?onSchemaError=updateSchema`, [{ a: 1 }]))).toBe(malformed);
    expect(outcomeOf(await client().put(`${path}?x=1`, [{ a: 1 }]))).toBe(malformed);
    expect(outcomeOf(await client().put(path, [{ a: 1 }], { 'idempotency-key': ' ' }))).toBe(malformed);
    expect(outcomeOf(await client().delete(`/stashes/${stashId}?x=1`))).toBe(malformed);
    await expectNone(stashId);
  });

  test.each<[string, unknown, Record<string, string>, unknown[]]>([
    ['no rows', [], {}, []],
    ['empty rows', [{}, {}], {}, [{}, {}]],
    ['a header', 'a,b\n', csv, []],
    ['CSV', 'a,b\n1,x\n,y\n', csv, [{ a: 1, b: 'x' }, { b: 'y' }]],
    ['TSV', 'a\tb\n1\tx', tsv, [{ a: 1, b: 'x' }]],
    ['CSV without a last newline, with a byte order mark', '\ufeffa\n1', csv, [{ a: 1 }]],
    ['a type in capitals, with a charset', text, { 'content-type': 'Application/JSON; charset=utf-8' }, [{ a: 1 }]],
    [
      'odd columns',
      '[{"__proto__":1,"constructor":2,"10":3}]',
      {},
      [JSON.parse('{"__proto__":1,"constructor":2,"10":3}')],
    ],
    ['gzip', gzipSync(text), { 'content-encoding': 'gzip' }, [{ a: 1 }]],
    ['br', brotliCompressSync(text), { 'content-encoding': 'br' }, [{ a: 1 }]],
    ['zstd', zstdCompressSync(text), { 'content-encoding': 'zstd' }, [{ a: 1 }]],
    ['CSV in gzip', gzipSync('a\n1'), { ...csv, 'content-encoding': 'gzip' }, [{ a: 1 }]],
    ['a row ID', [{ $rowID: 'x', a: 1 }], {}, [{ a: 1 }]],
  ])('may be %s', async (_name, body, headers, rows) => {
    const stashId = newStashId();
    expectStored(await client().put(`/stashes/${stashId}/1`, body, headers));
    expect(await rowsIn(stashId)).toEqual(rows);
  });

  test('has no version, and ignores headers that have no meaning here', async () => {
    const headers = { 'x-service-asynchronous': 'true', 'if-match': '"1"' };
    const answer = await client().put(`/stashes/${newStashId()}/1`, [{ a: 1 }], headers);
    expectStored(answer);
    expect(answer.version).toBeNull();
  });

  test('replaces any chunk with the same serial', async () => {
    const stashId = await stashOf(client(), { 1: [{ a: 1 }, { a: 2 }], 2: [{ a: 3 }] });
    await putChunks(client(), stashId, [['1', 'a\n9\n']]);
    expect(await rowsIn(stashId)).toEqual([{ a: 9 }, { a: 3 }]);
    await putChunks(client(), stashId, [
      ['1', []],
      ['2', [{ a: 4 }, { a: 5 }]],
    ]);
    expect(await rowsIn(stashId)).toEqual([{ a: 4 }, { a: 5 }]);
  });

  test('takes effect once under a key', async () => {
    const stashId = newStashId();
    const key = { 'idempotency-key': 'once' };
    const path = `/stashes/${stashId}/1`;
    expectStored(await client().put(path, [{ a: 1 }], key));
    await putChunks(client(), stashId, [['1', [{ a: 2 }]]]);
    expectStored(await client().put(path, [{ a: 1 }], key));
    expect(outcomeOf(await client().put(path, [{ a: 3 }], key))).toBe('400 idempotency_key_reused');
    expect(await rowsIn(stashId)).toEqual([{ a: 2 }]);
  });

  test.each([1, 2])('a chunk of nearly 15 MB, in several blocks, is one chunk (%i)', async (times) => {
    const rows = Array.from({ length: 14_900 }, (_, n) => ({ n, text: 'x'.repeat(980) }));
    expect(JSON.stringify(rows).length).toBeGreaterThan(14_800_000);
    const stashId = newStashId();
    await putChunks(client(), stashId, [['2', [{ n: -2, text: 'last' }]]]);
    for (let time = 0; time < times; time += 1) await putChunks(client(), stashId, [['1', rows]]);
    expect((await rowsIn(stashId)).map(({ n }) => n)).toEqual([...rows.map(({ n }) => n), -2]);
  });

  test.each<[string, () => { readonly body: Uint8Array | string; readonly headers: Record<string, string> }]>([
    ['as it is', () => ({ body: `[{"a":"${'x'.repeat(100)}"}${' '.repeat(15_000_000)}]`, headers: {} })],
    [
      'in rows',
      () => ({ body: JSON.stringify(Array.from({ length: 16_000 }, () => ({ a: 'x'.repeat(1000) }))), headers: {} }),
    ],
    [
      'compressed',
      () => ({
        body: gzipSync(`a\n${`${'x'.repeat(1000)}\n`.repeat(16_000)}`),
        headers: { ...csv, 'content-encoding': 'gzip' },
      }),
    ],
  ])('that is too large leaves nothing: %s', async (_name, made) => {
    const stashId = newStashId();
    const { body, headers } = made();
    expect(outcomeOf(await client().put(`/stashes/${stashId}/1`, body, headers))).toBe('413 payload_too_large');
    await expectNone(stashId);
  });

  test('a chunk whose client disconnects in the middle leaves nothing', async () => {
    const stashId = await stashOf(client(), { 1: [{ n: -1 }] });
    const body = Buffer.from(JSON.stringify(Array.from({ length: 3000 }, (_, n) => ({ n, text: 'x'.repeat(1000) }))));
    for (const framing of [`content-length: ${body.length}`, 'transfer-encoding: chunked']) {
      for (const bytes of [1, 600_000, body.length - 1]) {
        const { hostname, port } = new URL(client().url);
        const socket = connect(Number(port), hostname);
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        socket.write(
          `PUT /stashes/${stashId}/1 HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${client().token}\r\n` +
            `content-type: application/json\r\n${framing}\r\n\r\n${framing.startsWith('t') ? `${body.length.toString(16)}\r\n` : ''}`,
        );
        if (!socket.write(body.subarray(0, bytes))) await once(socket, 'drain');
        socket.destroy();
        await once(socket, 'close');
      }
    }
    // After all requests of the others.
    await putChunks(client(), stashId, [['2', [{ n: -2 }]]]);
    expect(await rowsIn(stashId)).toEqual([{ n: -1 }, { n: -2 }]);
  });

  test('that ends too soon is malformed', async () => {
    const stashId = newStashId();
    const path = `/stashes/${stashId}/1`;
    const head = `PUT ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${client().token}\r\ncontent-type: application/json\r\n`;
    const answer = await exchangeRaw(client().url, `${head}content-length: 900\r\n\r\n[{"a":1}]`, {
      end: true,
      method: 'PUT',
      path,
    });
    expect(outcomeOf(answer)).toBe(malformed);
    await expectNone(stashId);
  });
});

describe('teams', () => {
  test('have different stashes under the same name', async () => {
    const { client: other } = await api().createTeam();
    const stashId = newStashId();
    await putChunks(client(), stashId, [['1', [{ a: 'ours' }]]]);
    expect(outcomeOf(await other.post('/tables', { name: 'n', rows: { $stashID: stashId } }))).toBe(noStash);
    await putChunks(other, stashId, [
      ['1', [{ a: 'theirs' }]],
      ['2', [{ a: 'too' }]],
    ]);
    expect(await rowsIn(stashId)).toEqual([{ a: 'ours' }]);
    expectStored(await other.delete(`/stashes/${stashId}`));
    expect(await rowsIn(stashId)).toEqual([{ a: 'ours' }]);
    expect(outcomeOf(await other.post('/tables', { name: 'n', rows: { $stashID: stashId } }))).toBe(noStash);
  });

  test('need a token', async () => {
    const { Client } = await import('../support/client.ts');
    const nobody = new Client(client().url, 'none');
    const answers: Answer[] = [
      await nobody.put('/stashes/a/1', [{ a: 1 }]),
      await nobody.delete('/stashes/a'),
      await nobody.put('/stashes/_/1', []),
    ];
    expect(answers.map(outcomeOf)).toEqual(answers.map(() => '404 request_error'));
  });

  test('that are suspended, or have no rows left, can send chunks but not import them', async () => {
    const team = await api().createTeam();
    const table = await createTable(team.client, [{ a: 1 }, { a: 2 }]);
    const stashId = await stashOf(team.client, { 1: [{ a: 3 }], 2: [{ a: 4 }] });
    const writes = (): Promise<Answer[]> =>
      Promise.all([
        team.client.post(table.path, { $stashID: stashId }),
        team.client.post('/tables', { name: 'n', rows: { $stashID: stashId } }),
      ]);
    await team.setPlan({ rowsMax: 3 });
    await leavingUnchanged(team.client, table.path, async () => {
      expect((await writes()).map(outcomeOf)).toEqual(['402 payment_required', '402 payment_required']);
    });
    expect(outcomeOf(await team.client.put(`/tables/${table.id}`, { $stashID: stashId }))).toBe('200');
    await team.suspend();
    await putChunks(team.client, stashId, [['3', [{ a: 5 }]]]);
    expect((await writes()).map(outcomeOf)).toEqual(['402 payment_required', '402 payment_required']);
    expect(outcomeOf(await team.client.put(`/tables/${table.id}`, { $stashID: stashId }))).toBe('402 payment_required');
    await team.resume();
    expectStored(await team.client.delete(`/stashes/${stashId}`));
    expect(cellsOf(await team.client.rows(table.id))).toEqual([{ a: 3 }, { a: 4 }]);
  });
});

describe('a deletion', () => {
  test('is never an error', async () => {
    const stashId = newStashId();
    for (let times = 0; times < 2; times += 1) expectStored(await client().delete(`/stashes/${stashId}`));
    await putChunks(client(), stashId, [['1', [{ a: 1 }]]]);
    for (let times = 0; times < 3; times += 1) expectStored(await client().delete(`/stashes/${stashId}`));
    expectStored(
      await client().send(`/stashes/${stashId}`, { method: 'DELETE', headers: { 'content-type': 'application/json' } }),
    );
    const answer = await client().post('/tables', { name: 'n', rows: { $stashID: stashId } });
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([noStash, `stash ${stashId} was deleted`]);
  });

  test('makes room for a new stash, which has none of the old chunks', async () => {
    const stashId = await stashOf(client(), { 1: [{ a: 1 }], 2: [{ a: 2 }], w: [{ a: 3 }] });
    expectStored(await client().delete(`/stashes/${stashId}`));
    await putChunks(client(), stashId, [
      ['10', [{ a: 10 }]],
      ['2', [{ a: 22 }]],
    ]);
    expect(await rowsIn(stashId)).toEqual([{ a: 22 }, { a: 10 }]);
  });

  test('takes effect once under a key', async () => {
    const stashId = await stashOf(client(), { 1: [{ a: 1 }] });
    const remove = (): Promise<Answer> => client().delete(`/stashes/${stashId}`, { 'idempotency-key': 'once' });
    expectStored(await remove());
    await putChunks(client(), stashId, [['1', [{ a: 2 }]]]);
    expectStored(await remove());
    expect(await rowsIn(stashId)).toEqual([{ a: 2 }]);
  });

  test('a deletion between many chunks leaves only chunks of the new stash', async () => {
    const stashId = newStashId();
    const sent = Array.from({ length: 40 }, (_, n) =>
      n === 20 ? client().delete(`/stashes/${stashId}`) : client().put(`/stashes/${stashId}/${n}`, [{ n }]),
    );
    for (const answer of await Promise.all(sent)) expectStored(answer);
    await putChunks(client(), stashId, [['99', [{ n: 99 }]]]);
    const numbers = (await rowsIn(stashId)).map(({ n }) => n as number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(numbers.at(-1)).toBe(99);
  });
});
