/** Bodies that are refused: what they leave on the disk. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { recordsOfTeam, sizeOfLog } from '../support/log-records.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { createTable, unknownTableId, type MadeTable } from '../support/tables.ts';

const { api } = useOwnApi({ MAINTENANCE_INTERVAL_MS: '3600000' });
const operator = useOperator({ api });

/** 4 MB in 8 blocks, which compress little. */
const body = JSON.stringify(
  Array.from({ length: 4000 }, (_, n) => ({ n, text: Array.from({ length: 26 }, () => randomUUID()).join('') })),
);
const malformed = `${body.slice(0, -2)},}]`;

interface Kept {
  readonly logRecords: number;
  readonly logBytes: number;
  readonly rows: number;
  readonly segments: number;
}

/** What is in the log and in the read model, of all teams. */
async function kept(): Promise<Kept> {
  const { records: logRecords, bytes: logBytes } = await sizeOfLog(operator());
  const {
    rows: [found],
  } = await operator().database.pool.query<Pick<Kept, 'rows' | 'segments'>>(
    'select (select count(*)::int4 from segment_rows) as rows, (select count(*)::int4 from segments) as segments',
  );
  return { logRecords, logBytes, ...found! };
}

let team: Team;
let table: MadeTable;

beforeAll(async () => {
  team = await api().createTeam();
  table = await createTable(team.client, [{ n: 0, text: '' }]);
  await team.client.post(table.path, [{ n: 1, text: '' }]);
});

const passed = (): Record<string, string> => ({ 'if-match': `"${table.version}"` });
const unknown = `/tables/${unknownTableId}/rows`;

test('twelve bodies that the committed state refuses leave nothing', async () => {
  const before = await kept();
  const suspended = await api().createTeam();
  const { path } = await createTable(suspended.client, []);
  await suspended.suspend();
  const added = await kept();
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => [
      team.client.post(unknown, body),
      team.client.post(table.path, body, passed()),
      suspended.client.post(path, body),
    ]).flat(),
  );
  expect(new Set(answers.map(outcomeOf))).toEqual(
    new Set(['404 table_not_found', '412 precondition_failed', '402 payment_required']),
  );
  expect(await kept()).toEqual(added);
  expect(added.rows).toBe(before.rows);
});

test('under a key an event without rows is left', async () => {
  const before = await kept();
  const key = { 'idempotency-key': randomUUID() };
  const answers: Answer[] = [await team.client.post(unknown, body, key), await team.client.post(unknown, body, key)];
  expect(answers.map(outcomeOf)).toEqual(['404 table_not_found', '404 table_not_found']);
  const { logRecords, logBytes, ...rows } = await kept();
  expect([logRecords - before.logRecords, rows]).toEqual([2, { rows: before.rows, segments: before.segments }]);
  expect(logBytes - before.logBytes).toBeLessThan(1000);
  expect((await recordsOfTeam(operator(), team.id)).at(-1)!.event.data.type).toBe('RequestRefused');
});

test('a body that is malformed in its last row, and one whose client goes away, leave nothing', async () => {
  const before = await kept();
  expect(outcomeOf(await team.client.post(table.path, malformed))).toBe('400 request_validation_error');
  expect(await kept()).toEqual(before);

  const { hostname, port } = new URL(team.client.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(
    `POST ${table.path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${team.client.token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, -1000)}`,
  );
  await sleepUntil(async () => (await kept()).segments >= before.segments + 5, 'rows are written ahead');
  expect((await kept()).logRecords).toBe(before.logRecords);
  socket.destroy();
  await sleepUntil(async () => (await kept()).segments === before.segments, 'they are taken back');
  expect(await kept()).toEqual(before);
});
