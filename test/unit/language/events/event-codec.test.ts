import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';

import { costOfRecord } from '../../../../src/language/events/cost.ts';
import {
  RecordTooLarge,
  decodeEvent,
  encodeEvent,
  packBody,
  recordBytesMax,
} from '../../../../src/language/events/event-codec.ts';
import { eventLanguage } from '../../../../src/language/events/language.ts';
import { readRecordHeader } from '../../../../src/language/events/record-header.ts';
import type { Envelope, EventData, EventOf, EventType } from '../../../../src/language/events/event.ts';
import type { RowSource } from '../../../../src/language/events/row-source.ts';
import { allTypes, columnTypes } from '../../../../src/language/values/column-type.ts';
import { emptyProfile } from '../../../../src/language/values/build-profile.ts';
import { currentRule, ruleOfCells } from '../../../../src/language/values/rule.ts';
import type { ColumnProfile, Misfit, Profile } from '../../../../src/language/values/profile.ts';

/** Objects as the code makes them; fast-check makes some without a prototype too. */
const plain: typeof fc.record = (model: object, constraints?: object) =>
  fc.record(model as never, { ...constraints, noNullPrototype: true } as never) as never;

const id = fc.oneof(
  fc.uuid({ version: 7 }),
  fc.constantFrom('__proto__', 'constructor', '10', 'é"\\\n😀', '"rows":{"kind":"stash"'),
);
const count = fc.nat(2 ** 31 - 1);
const version = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const types = fc.nat(allTypes);
const place = { row: count, position: fc.nat(10_000) };

const misfit: fc.Arbitrary<Misfit> = plain({
  ...place,
  types,
  wrapped: types,
  value: fc.string({ unit: 'grapheme' }),
});
const column: fc.Arbitrary<ColumnProfile> = plain({
  id,
  first: plain(place),
  natural: fc.constantFrom(null, ...columnTypes),
  stored: fc.nat(1023),
  misfits: fc.array(misfit, { maxLength: 3 }),
});
const profile: fc.Arbitrary<Profile> = plain({
  rows: count,
  bytes: count,
  rowBytesMax: count,
  columns: fc.array(column, { maxLength: 4 }),
  rule: fc.constantFrom(1, 2, 3),
});
const ids = fc.constant(true as const);
const rows: fc.Arbitrary<RowSource> = fc.oneof(
  fc.constant({ kind: 'none' } as const),
  plain({ kind: fc.constant('few'), profile, ids }, { requiredKeys: ['kind', 'profile'] }),
  plain(
    { kind: fc.constant('block'), profile, ids, segmentId: id },
    { requiredKeys: ['kind', 'profile', 'segmentId'] },
  ),
  plain(
    { kind: fc.constant('body'), bodyId: id, blocks: count, content: plain({ columns: count, rowIds: count }) },
    { requiredKeys: ['kind', 'bodyId', 'blocks'] },
  ),
  plain({ kind: fc.constant('stash'), stashId: id }),
);
const chunkRows = rows.filter(({ kind }) => kind !== 'stash') as fc.Arbitrary<EventOf<'ChunkPutRequested'>['rows']>;
const ifMatch = fc.option(version);
const onSchemaError = fc.constantFrom('abort', 'dropColumns', 'updateSchema');
const limits = plain(
  { rowsPerTableMax: count, columnsMax: count, rowBytesMax: count, stashColumnsMax: count },
  { requiredKeys: ['rowsPerTableMax', 'columnsMax', 'rowBytesMax'] },
);
const tableLimits = plain({ rowsPerTableMax: count, columnsMax: count, rowBytesMax: count, tablesMax: count });
const row = plain({ version, ordinal: count, index: count });
const givenColumn = plain(
  { id, displayName: fc.string(), type: fc.constantFrom(...columnTypes) },
  { requiredKeys: ['id', 'type'] },
);

type FieldsOf<T extends EventType> = {
  readonly [K in Exclude<keyof EventOf<T>, 'type'>]-?: fc.Arbitrary<EventOf<T>[K]>;
};

const keyIds = fc.array(id, { minLength: 1, maxLength: 3 });

/** Every event there is: a new one does not compile until it is named here. */
const fields: { readonly [T in EventType]: FieldsOf<T> } = {
  GenerationStarted: { logId: id, base: version },
  LogResumed: { base: version },
  TeamCreated: { teamId: id, name: id },
  TeamSuspended: { teamId: id },
  TeamResumed: { teamId: id },
  TeamPlanSet: {
    teamId: id,
    rowsMax: fc.option(count),
    tablesMax: fc.option(count),
    stashesMax: fc.option(count),
    openBodiesMax: fc.option(count),
    openUploadsMax: fc.option(count),
    openUploadBytesMax: fc.option(count),
    uploadBytesMax: fc.option(count),
    logBytesPerDayMax: fc.option(count),
  },
  TokenCreated: {
    teamId: id,
    tokenId: id,
    name: id,
    hash: id,
    expiresAt: fc.option(count),
    readOnly: fc.boolean(),
    appId: fc.option(id),
    endsIn: id,
  },
  TokenRevoked: { teamId: id, tokenId: id },
  RequestRefused: {
    teamId: id,
    refusal: plain({ type: fc.constantFrom('table_not_found', 'limit_exceeded'), message: fc.string() }),
  },
  BodyOpenRequested: { teamId: id, bodyId: id, limits: plain({ openMax: count }) },
  BodyExpired: { teamId: id, bodyId: id },
  BlockReceived: { teamId: id, bodyId: id, number: count, segmentId: id, profile, ids },
  ChunkPutRequested: {
    teamId: id,
    stashId: id,
    serial: id,
    rows: chunkRows,
    limits: plain({ lifeMs: count, chunksMax: count, rowsMax: count, profiledColumnsMax: count, stashesMax: count }),
  },
  StashDeleteRequested: { teamId: id, stashId: id },
  StashExpired: { teamId: id, stashId: id, created: version },
  UploadCreateRequested: {
    teamId: id,
    uploadId: id,
    appId: id,
    contentType: id,
    fileName: id,
    limits: plain({ sizeMax: count, lifeMs: count, unclaimedLifeMs: count, openMax: count, openBytesMax: count }),
  },
  UploadCompleteRequested: { teamId: id, uploadId: id, appId: id, file: plain({ name: id, size: count }) },
  UploadDeleteRequested: { teamId: id, uploadId: id, appId: id },
  UploadChecked: { teamId: id, uploadId: id },
  TableCreateRequested: {
    teamId: id,
    tableId: id,
    name: id,
    columns: fc.option(fc.array(givenColumn, { maxLength: 3 })),
    key: keyIds,
    onSchemaError,
    appsToLink: fc.option(fc.array(id, { maxLength: 3 })),
    limits: tableLimits,
    rows,
  },
  TablePatchRequested: {
    teamId: id,
    tableId: id,
    ifMatch,
    name: fc.option(id),
    columns: fc.array(plain({ id, displayName: fc.option(fc.string()) }), { maxLength: 3 }),
    key: fc.option(keyIds),
    preparedKey: fc.option(plain({ version: fc.bigInt(0n, 2n ** 60n), index: fc.bigInt(-(2n ** 62n), -1n) })),
    columnChanges: plain({
      remove: fc.array(id, { maxLength: 3 }),
      change: fc.array(
        plain(
          { id, displayName: fc.option(fc.string()), type: fc.constantFrom(...columnTypes) },
          { requiredKeys: ['id'] },
        ),
        { maxLength: 3 },
      ),
      add: fc.array(givenColumn, { maxLength: 3 }),
      order: fc.array(id, { maxLength: 3 }),
      columnsMax: count,
      onMisfit: fc.constantFrom('abort', 'clear'),
      tried: fc.option(
        plain({ version, misfits: fc.array(plain({ id, cells: count, rowId: id, value: fc.string() })) }),
      ),
    }),
  },
  TableDeleteRequested: { teamId: id, tableId: id, ifMatch },
  RowsAddRequested: { teamId: id, tableId: id, ifMatch, onSchemaError, limits, mode: fc.constant('upsert'), rows },
  TableOverwriteRequested: {
    teamId: id,
    tableId: id,
    ifMatch,
    columns: fc.option(fc.array(givenColumn, { maxLength: 3 })),
    key: keyIds,
    onSchemaError,
    limits,
    rows,
  },
  RowPatchRequested: { teamId: id, tableId: id, row, ifMatch, onSchemaError, limits, profile },
  RowDeleteRequested: { teamId: id, tableId: id, row, ifMatch },
  TableBatchRequested: {
    teamId: id,
    tableId: id,
    ifMatch,
    onSchemaError,
    limits,
    operations: fc.array(
      fc.oneof(
        plain({ op: fc.constantFrom('add', 'upsert') }),
        plain({ op: fc.constantFrom('patch', 'delete'), row, ifMatch }),
      ),
      { maxLength: 5 },
    ),
    foundAt: version,
    profile,
  },
};

const anyEvent = (type: EventType): fc.Arbitrary<EventData> =>
  plain({ type: fc.constant(type), ...fields[type] } as Record<string, fc.Arbitrary<unknown>>) as never;

/** Events whose JSON is compressed: their profiles have 20 to 300 columns. */
const wideProfile: fc.Arbitrary<Profile> = plain({
  rows: count,
  bytes: count,
  rowBytesMax: count,
  columns: fc.array(column, { minLength: 20, maxLength: 300, size: 'max' }),
  rule: fc.constantFrom(1, 2, 3),
});
const wideEvent: fc.Arbitrary<EventData> = plain({
  type: fc.constant('BlockReceived'),
  ...fields.BlockReceived,
  profile: wideProfile,
}) as never;

const anyBody = fc.uint8Array({ maxLength: 3000 });

const anyEnvelope: fc.Arbitrary<Envelope> = plain({
  commandId: id,
  notAfter: fc.option(fc.nat(2 ** 43)),
  requestDigest: fc.option(id),
});

async function expectReadAsWritten(envelope: Envelope, data: EventData, body: Uint8Array): Promise<void> {
  const { commandId, bytes, size, cost, event } = encodeEvent(envelope, data, await packBody(body));
  const { body: readBody, ...read } = decodeEvent(bytes);
  expect(commandId).toBe(envelope.commandId);
  expect(costOfRecord(bytes)).toBe(cost);
  expect(cost).toBeGreaterThan(size);
  expect(read).toEqual({ ...envelope, data });
  expect(Buffer.from(readBody())).toEqual(Buffer.from(body));
  // What is projected without being read is the same.
  const { body: knownBody, ...known } = event;
  expect(known).toStrictEqual(read);
  expect(Buffer.from(knownBody())).toEqual(Buffer.from(body));
}

describe('an event that was written is read', () => {
  test.each(Object.keys(fields) as EventType[])('an event of the type %s is read as it was written', async (type) => {
    await fc.assert(fc.asyncProperty(anyEnvelope, anyEvent(type), anyBody, expectReadAsWritten), { numRuns: 50 });
  });

  test('with wide profiles', async () => {
    await fc.assert(
      fc.asyncProperty(anyEnvelope, wideEvent, anyBody, async (envelope, data, body) => {
        await expectReadAsWritten(envelope, data, body);
        expect(readRecordHeader(Buffer.from(encodeEvent(envelope, data).bytes)).jsonCodec).toBe(1);
      }),
      { numRuns: 50 },
    );
  });
});

const envelope: Envelope = { commandId: 'command', notAfter: 5, requestDigest: null };
const suspended: EventData = { type: 'TeamSuspended', teamId: 'team' };

describe('an event needs a language that reads its rows as they were decided', () => {
  const rowsBy = (rule: number): EventData => ({
    type: 'RowsAddRequested',
    teamId: 'team',
    tableId: 'table',
    rows: { kind: 'few', profile: { ...emptyProfile, rule } },
    onSchemaError: 'abort',
    ifMatch: null,
    limits: { rowsPerTableMax: 1, columnsMax: 1, rowBytesMax: 1 },
  });
  const blockBy = (rule: number): EventData => ({
    type: 'BlockReceived',
    teamId: 'team',
    bodyId: 'body',
    number: 0,
    segmentId: 'segment',
    profile: { ...emptyProfile, rule },
  });

  test.each([
    { what: 'the first rules', rule: 2, language: 1 },
    { what: 'the newest rule', rule: currentRule, language: 2 },
    { what: 'cells with a decimal comma', rule: ruleOfCells({ decimal: ',' }), language: 2 },
  ])('rows by $what', ({ rule, language }) => {
    expect([rowsBy(rule), blockBy(rule)].map((data) => encodeEvent(envelope, data).language)).toEqual([
      language,
      language,
    ]);
    expect(language).toBeLessThanOrEqual(eventLanguage);
  });

  test('no rows', () => expect(encodeEvent(envelope, suspended).language).toBe(1));

  test.each([0, currentRule + 1, ruleOfCells({ decimal: ',' }) + 16, 256 + currentRule])(
    'rows of rule %s, which only a newer version knows, are not read',
    (rule) => {
      for (const data of [rowsBy(rule), blockBy(rule)]) {
        const { bytes } = encodeEvent(envelope, data);
        expect(() => decodeEvent(bytes)).toThrow(`rows by the unknown rule ${rule}`);
      }
    },
  );
});

const headerBytes = 12;

/** A record, some bytes of which are others. */
function record(changes: Readonly<Record<number, number>> = {}): Buffer {
  const bytes = Buffer.from(encodeEvent(envelope, suspended).bytes);
  for (const [at, byte] of Object.entries(changes)) bytes[Number(at)] = byte;
  return bytes;
}

describe('a body', () => {
  const body = Buffer.from('{"a":1}\n'.repeat(1000));

  test('is compressed if that saves bytes', async () => {
    expect(await packBody(body.subarray(0, 1023))).toEqual({ codec: 0, bytes: body.subarray(0, 1023) });
    expect((await packBody(body.subarray(0, 1024))).codec).toBe(1);
    const packed = await packBody(body);
    expect(packed.bytes.length).toBeLessThan(200);
  });

  test('is empty if the event has none', () => expect(decodeEvent(record()).body()).toHaveLength(0));

  test('that is truncated anywhere throws when it is read', async () => {
    const { bytes } = encodeEvent(envelope, suspended, await packBody(body));
    const bodyStart = record().length;
    for (let length = bodyStart; length < bytes.length; length += 1) {
      const event = decodeEvent(bytes.subarray(0, length));
      expect(() => event.body()).toThrow();
    }
  });

  test('is not decompressed beyond its limit', async () => {
    const { bytes } = encodeEvent(envelope, suspended, await packBody(Buffer.alloc(2 * 1024 * 1024 + 1)));
    expect(() => decodeEvent(bytes).body()).toThrow();
  });

  test('a body of an unknown codec throws', () => {
    expect(() => decodeEvent(record({ 1: 2 })).body()).toThrow('a record whose body has the unknown codec 2');
  });
});

describe('a record', () => {
  test.each([
    ['whose JSON would be longer than it is', { 4: 1 }, 'a record that is cut short'],
    ['whose JSON is none', { [headerBytes]: 0x5b }, 'JSON'],
    ['whose JSON ends too early', { 7: 5 }, 'JSON'],
    ['without JSON', { 7: 0 }, 'JSON'],
  ])('a record %s throws', (_name, changes, message) => expect(() => decodeEvent(record(changes))).toThrow(message));

  test('that is truncated anywhere throws', () => {
    const bytes = record();
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeEvent(bytes.subarray(0, length))).toThrow(/unknown format|cut short/);
    }
  });

  test('may be as large as brokers accept, and no larger', () => {
    // A larger body has a larger cost, which takes a byte more.
    const room = recordBytesMax - record().length - 1;
    const encoded = (length: number): Uint8Array =>
      encodeEvent(envelope, suspended, { codec: 0, bytes: Buffer.alloc(length) }).bytes;
    expect(encoded(room)).toHaveLength(recordBytesMax);
    expect(() => encoded(room + 1)).toThrow(RecordTooLarge);
  });

  test('is read from the middle of a buffer', () => {
    const bytes = record();
    const padded = Buffer.concat([Buffer.alloc(3, 0xff), bytes, Buffer.alloc(3, 0xff)]);
    expect(decodeEvent(padded.subarray(3, 3 + bytes.length)).data).toEqual(suspended);
  });

  test('always has the same bytes', () => {
    const json =
      '{"commandId":"command","notAfter":5,"requestDigest":null,"data":' +
      '{"type":"RowDeleteRequested","teamId":"team","tableId":"table",' +
      '"row":{"version":"7","ordinal":1,"index":2},"ifMatch":"9"}}';
    const { bytes } = encodeEvent(envelope, {
      type: 'RowDeleteRequested',
      teamId: 'team',
      tableId: 'table',
      row: { version: 7n, ordinal: 1, index: 2 },
      ifMatch: 9n,
    });
    const header = Buffer.from([
      2,
      0,
      0,
      4,
      0,
      0,
      0,
      json.length,
      1,
      2,
      (8000 + json.length) >> 8,
      (8000 + json.length) & 255,
    ]);
    expect(Buffer.from(bytes)).toEqual(Buffer.concat([header, Buffer.from(json)]));
  });
});

/**
 * Records as they were written in the first format, byte by byte: the proof of a log hashes them, so they are never
 * written anew.
 */
describe('a record of the first format is read', () => {
  const decoded = (base64: string): object => {
    const bytes = Buffer.from(base64, 'base64');
    const { body, ...event } = decodeEvent(bytes);
    return { ...event, body: Buffer.from(body()).toString(), cost: costOfRecord(bytes) };
  };

  test('a fact', () => {
    expect(
      decoded(
        'AQAAAAAAAIF7ImNvbW1hbmRJZCI6ImMiLCJub3RBZnRlciI6bnVsbCwicmVxdWVzdERpZ2VzdCI6ImQiLCJkYXRhIjp7InR5cGUiOiJHZW5lcmF0aW9uU3RhcnRl' +
          'ZCIsImxvZ0lkIjoibG9nIiwiYmFzZSI6IjkwMDcxOTkyNTQ3NDA5OTMifX0=',
      ),
    ).toEqual({
      commandId: 'c',
      notAfter: null,
      requestDigest: 'd',
      body: '',
      cost: 8000 + 137,
      data: { type: 'GenerationStarted', logId: 'log', base: 9007199254740993n },
    });
  });

  test('an import', () => {
    expect(
      decoded(
        'AQAAAAAAAQx7ImNvbW1hbmRJZCI6ImNvbW1hbmQiLCJub3RBZnRlciI6NSwicmVxdWVzdERpZ2VzdCI6bnVsbCwiZGF0YSI6eyJ0eXBlIjoiUm93c0FkZFJlcXVl' +
          'c3RlZCIsInRlYW1JZCI6InRlYW0iLCJ0YWJsZUlkIjoidGFibGUiLCJpZk1hdGNoIjoiNyIsIm9uU2NoZW1hRXJyb3IiOiJhYm9ydCIsImxpbWl0cyI6eyJyb3dz' +
          'UGVyVGFibGVNYXgiOjEsImNvbHVtbnNNYXgiOjIsInJvd0J5dGVzTWF4IjozfSwicm93cyI6eyJraW5kIjoic3Rhc2giLCJzdGFzaElkIjoic3Rhc2gifX19',
      ),
    ).toEqual({
      ...envelope,
      body: '',
      cost: 16_000_000,
      data: {
        type: 'RowsAddRequested',
        teamId: 'team',
        tableId: 'table',
        ifMatch: 7n,
        onSchemaError: 'abort',
        limits: { rowsPerTableMax: 1, columnsMax: 2, rowBytesMax: 3 },
        rows: { kind: 'stash', stashId: 'stash' },
      },
    });
  });

  test('a block, with its profile and its compressed rows', () => {
    expect(
      decoded(
        'AQEAAAAAAMV7ImNvbW1hbmRJZCI6ImNvbW1hbmQiLCJub3RBZnRlciI6NSwicmVxdWVzdERpZ2VzdCI6bnVsbCwiZGF0YSI6eyJ0eXBlIjoiQmxvY2tSZWNlaXZl' +
          'ZCIsInRlYW1JZCI6InRlYW0iLCJib2R5SWQiOiJib2R5IiwibnVtYmVyIjozLCJzZWdtZW50SWQiOiJzZWdtZW50IiwicHJvZmlsZSI6WzIwMCwxNjAwLDgsW1si' +
          'YSIsMCwwLDEyLDEsW11dXV19fSi1L/0ASH0AAEB7ImEiOjF9CgEANe4vXA==',
      ),
    ).toEqual({
      ...envelope,
      body: '{"a":1}\n'.repeat(200),
      cost: 8000 + 229,
      data: {
        type: 'BlockReceived',
        teamId: 'team',
        bodyId: 'body',
        number: 3,
        segmentId: 'segment',
        profile: {
          rows: 200,
          bytes: 1600,
          rowBytesMax: 8,
          columns: [{ id: 'a', first: { row: 0, position: 0 }, natural: 'number', stored: 1, misfits: [] }],
          rule: 1,
        },
      },
    });
  });

  test('a token from before tokens had limits has no limits', () => {
    const json =
      '{"commandId":"command","notAfter":5,"requestDigest":null,"data":' +
      '{"type":"TokenCreated","teamId":"team","tokenId":"token","name":"CI","hash":"00ff"}}';
    const bytes = Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, json.length]), Buffer.from(json)]);
    expect(decoded(bytes.toString('base64'))).toEqual({
      ...envelope,
      body: '',
      cost: 8000 + bytes.length,
      data: {
        type: 'TokenCreated',
        teamId: 'team',
        tokenId: 'token',
        name: 'CI',
        hash: '00ff',
        expiresAt: null,
        readOnly: false,
        appId: null,
      },
    });
  });
});
