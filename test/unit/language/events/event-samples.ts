/** Events of every type, with every kind of content that the log may hold: what the golden bytes were made of. */
import type { EventOf, EventType } from '../../../../src/language/events/event.ts';
import type { RowSource } from '../../../../src/language/events/row-source.ts';
import { typeSet } from '../../../../src/language/values/column-type.ts';
import { storedAs, type Profile } from '../../../../src/language/values/profile.ts';

const teamId = '01890000-0000-7000-8000-000000000001';
const tableId = '01890000-0000-7000-8000-000000000002';
const bodyId = '01890000-0000-7000-8000-000000000003';
const segmentId = '01890000-0000-7000-8000-000000000004';
const uploadId = '01890000-0000-7000-8000-000000000005';
const tokenId = '01890000-0000-7000-8000-000000000006';

const profile: Profile = {
  rows: 3,
  bytes: 120,
  rowBytesMax: 50,
  rule: 2,
  columns: [
    { id: 'name', first: { row: 0, position: 0 }, natural: 'string', stored: storedAs.string, misfits: [] },
    {
      id: 'age "é"',
      first: { row: 1, position: 1 },
      natural: 'number',
      stored: storedAs.number | storedAs.cell,
      misfits: [{ row: 1, position: 1, types: typeSet('string', 'markdown'), wrapped: 0, value: '"x"' }],
    },
  ],
};
const countedProfile: Profile = {
  ...profile,
  rule: 1,
  dropped: 2,
  columns: profile.columns.map((column) => ({ ...column, counts: [[typeSet('string'), 3]] })),
};
const limits = { rowsPerTableMax: 10_000_000, columnsMax: 1000, rowBytesMax: 524_288 };
const row = { version: 2n ** 40n, ordinal: 3, index: 9_999 };

const sources: readonly RowSource[] = [
  { kind: 'none' },
  { kind: 'few', profile },
  { kind: 'few', profile: countedProfile, ids: true },
  { kind: 'block', profile, segmentId },
  { kind: 'block', profile, ids: true, segmentId },
  { kind: 'body', bodyId, blocks: 7 },
  { kind: 'body', bodyId, blocks: 7, content: { columns: 20, rowIds: 30 } },
  { kind: 'stash', stashId: 'shop/import-7' },
];
const sourcesOfChunks = sources.filter((source) => source.kind !== 'stash');

const tableCreation = (rows: RowSource): EventOf<'TableCreateRequested'> => ({
  type: 'TableCreateRequested',
  teamId,
  tableId,
  name: 'cars',
  columns: [
    { id: 'name', displayName: 'Name', type: 'string' },
    { id: 'tags', type: 'array<string>' },
  ],
  onSchemaError: 'abort',
  appsToLink: ['shop'],
  limits: { ...limits, tablesMax: 10_000 },
  rows,
});
const tableOverwrite = (rows: RowSource): EventOf<'TableOverwriteRequested'> => ({
  type: 'TableOverwriteRequested',
  teamId,
  tableId,
  ifMatch: 2n ** 53n + 1n,
  columns: null,
  onSchemaError: 'dropColumns',
  limits,
  rows,
});
const tablePatch: EventOf<'TablePatchRequested'> = {
  type: 'TablePatchRequested',
  teamId,
  tableId,
  ifMatch: null,
  name: null,
  columns: [],
};
const tableBatch: EventOf<'TableBatchRequested'> = {
  type: 'TableBatchRequested',
  teamId,
  tableId,
  ifMatch: 42n,
  onSchemaError: 'updateSchema',
  limits,
  operations: [
    { op: 'add' },
    { op: 'patch', row, ifMatch: null },
    { op: 'patch', row, ifMatch: 41n },
    { op: 'delete', row, ifMatch: null },
    { op: 'delete', row, ifMatch: 2n ** 60n },
  ],
  profile,
};

export const eventSamples: { readonly [T in EventType]: readonly EventOf<T>[] } = {
  GenerationStarted: [{ type: 'GenerationStarted', logId: 'a log', base: 2n ** 60n }],
  LogResumed: [{ type: 'LogResumed', base: 12n }],
  TeamCreated: [{ type: 'TeamCreated', teamId, name: 'Ada & Bo' }],
  TeamSuspended: [{ type: 'TeamSuspended', teamId }],
  TeamResumed: [{ type: 'TeamResumed', teamId }],
  TeamPlanSet: [
    { type: 'TeamPlanSet', teamId, rowsMax: 5, tablesMax: null },
    { type: 'TeamPlanSet', teamId },
  ],
  TokenCreated: [
    {
      type: 'TokenCreated',
      teamId,
      tokenId,
      name: 'ci',
      hash: 'ab'.repeat(32),
      expiresAt: 1_700_000_000_000,
      readOnly: true,
      appId: 'shop',
    },
    {
      type: 'TokenCreated',
      teamId,
      tokenId,
      name: 'ci',
      hash: 'ab'.repeat(32),
      expiresAt: null,
      readOnly: false,
      appId: null,
    },
    {
      type: 'TokenCreated',
      teamId,
      tokenId,
      name: 'ci',
      hash: 'ab'.repeat(32),
      expiresAt: null,
      readOnly: false,
      appId: null,
      endsIn: '9c41f0',
    },
  ],
  TokenRevoked: [{ type: 'TokenRevoked', teamId, tokenId }],
  RequestRefused: [
    { type: 'RequestRefused', teamId, refusal: { type: 'table_not_found', message: 'there is no such table' } },
  ],
  BodyOpenRequested: [{ type: 'BodyOpenRequested', teamId, bodyId, limits: { openMax: 1000 } }],
  BodyExpired: [{ type: 'BodyExpired', teamId, bodyId }],
  BlockReceived: [
    { type: 'BlockReceived', teamId, bodyId, number: 0, segmentId, profile },
    { type: 'BlockReceived', teamId, bodyId, number: 1, segmentId, profile: countedProfile, ids: true },
  ],
  ChunkPutRequested: sourcesOfChunks.map((rows) => ({
    type: 'ChunkPutRequested',
    teamId,
    stashId: 'import-7',
    serial: '12',
    limits: {
      lifeMs: 172_800_000,
      chunksMax: 100_000,
      rowsMax: 10_000_000,
      profiledColumnsMax: 1_000_000,
      stashesMax: 10_000,
    },
    rows,
  })),
  StashDeleteRequested: [{ type: 'StashDeleteRequested', teamId, stashId: 'import-7' }],
  StashExpired: [{ type: 'StashExpired', teamId, stashId: 'import-7', created: 2n ** 50n }],
  UploadCreateRequested: [
    {
      type: 'UploadCreateRequested',
      teamId,
      uploadId,
      appId: 'shop',
      contentType: 'image/png',
      fileName: 'é.png',
      limits: { sizeMax: 100, lifeMs: 1000, unclaimedLifeMs: 2000, openMax: 3, openBytesMax: 400 },
    },
  ],
  UploadCompleteRequested: [
    {
      type: 'UploadCompleteRequested',
      teamId,
      uploadId,
      appId: 'shop',
      file: { name: 'mV0aZ3lqT1uHq5o2bR8x6w', size: 99 },
    },
  ],
  UploadDeleteRequested: [{ type: 'UploadDeleteRequested', teamId, uploadId, appId: 'shop' }],
  UploadChecked: [{ type: 'UploadChecked', teamId, uploadId }],
  TableCreateRequested: [
    ...sources.map((rows) => tableCreation(rows)),
    { ...tableCreation({ kind: 'none' }), key: ['name'] },
  ],
  TablePatchRequested: [
    {
      type: 'TablePatchRequested',
      teamId,
      tableId,
      ifMatch: 41n,
      name: null,
      columns: [{ id: 'name', displayName: null }],
    },
    {
      type: 'TablePatchRequested',
      teamId,
      tableId,
      ifMatch: null,
      name: 'people',
      columns: [],
      columnChanges: {
        remove: ['size'],
        change: [
          { id: 'age', displayName: 'Age', type: 'number' },
          { id: 'name', displayName: null },
        ],
        add: [{ id: 'born', type: 'date' }],
        order: ['born'],
        columnsMax: 1000,
        onMisfit: 'clear',
        tried: { version: 41n, misfits: [{ id: 'age', cells: 2, rowId: 'AAAAAAAAAAEAAAAAAAAAAA', value: '"n/a"' }] },
      },
    },
    { ...tablePatch, key: ['name', 'age "é"'] },
    { ...tablePatch, key: null },
    {
      type: 'TablePatchRequested',
      teamId,
      tableId,
      ifMatch: null,
      name: null,
      columns: [],
      key: ['name', 'born'],
      preparedKey: { version: 41n, index: -4242n },
    },
  ],
  TableDeleteRequested: [
    { type: 'TableDeleteRequested', teamId, tableId, ifMatch: null },
    { type: 'TableDeleteRequested', teamId, tableId, ifMatch: 41n },
  ],
  RowsAddRequested: [
    ...sources.map(
      (rows) =>
        ({
          type: 'RowsAddRequested',
          teamId,
          tableId,
          ifMatch: null,
          onSchemaError: 'updateSchema',
          limits: { ...limits, stashColumnsMax: 1000 },
          rows,
        }) as const,
    ),
    {
      type: 'RowsAddRequested',
      teamId,
      tableId,
      ifMatch: null,
      onSchemaError: 'abort',
      limits,
      mode: 'upsert',
      rows: { kind: 'few', profile },
    },
  ],
  TableOverwriteRequested: [
    ...sources.map((rows) => tableOverwrite(rows)),
    { ...tableOverwrite({ kind: 'none' }), columns: [{ id: 'name', type: 'string' }], key: ['name'] },
  ],
  RowPatchRequested: [
    { type: 'RowPatchRequested', teamId, tableId, row, ifMatch: 42n, onSchemaError: 'abort', limits, profile },
  ],
  RowDeleteRequested: [{ type: 'RowDeleteRequested', teamId, tableId, row, ifMatch: null }],
  TableBatchRequested: [
    tableBatch,
    { ...tableBatch, operations: tableBatch.operations.slice(1), foundAt: 2n ** 60n },
    { ...tableBatch, operations: [{ op: 'upsert' }, { op: 'add' }] },
  ],
};
