/** What refuses a request whatever its rows are, refuses it before its rows are looked at. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { rowLimits } from '../../../commands/limits.ts';
import type { EventOf } from '../../../src/language/events/event.ts';
import type { RowSource } from '../../../src/language/events/row-source.ts';
import { DrivenLog, DrivenTeam } from '../../replay/driven-team.ts';
import { interceptWriters } from '../../support/intercepted-writers.ts';
import { useReadModel } from '../../support/read-model.ts';

/** The statements that read the profiles of rows. */
const readsContent = /^select_(body_blocks|chunk_blocks)/;

const { database } = useReadModel(1, 'file');
const missing = randomUUID();
const stash: RowSource = { kind: 'stash', stashId: 'stash' };
const body: RowSource = { kind: 'body', bodyId: randomUUID(), blocks: 2 };

let read: string[] = [];
let team: DrivenTeam;
let table: string;
let log: DrivenLog;

beforeEach(async () => {
  if (log === undefined) {
    log = new DrivenLog(
      interceptWriters(database(), ({ name }, send) => {
        if (readsContent.test(name)) read.push(name);
        return send();
      }),
    );
    team = await DrivenTeam.create(log);
    table = await team.table('{"n":1}');
    await team.chunk('stash', '{"n":1}', '{"n":2}');
    if (body.kind === 'body') for (const number of [0, 1]) await team.block(body.bodyId, number, '{"n":3}');
  }
  read = [];
});

const common = { onSchemaError: 'updateSchema', limits: rowLimits(100) } as const;
type Write = EventOf<'RowsAddRequested' | 'TableOverwriteRequested' | 'TableCreateRequested'>;

function adding(rows: RowSource, tableId = table, ifMatch: bigint | null = null): Write {
  return { type: 'RowsAddRequested', teamId: team.id, tableId, ifMatch, rows, ...common };
}

function overwriting(rows: RowSource, tableId = table, ifMatch: bigint | null = null): Write {
  return { type: 'TableOverwriteRequested', teamId: team.id, tableId, ifMatch, columns: null, rows, ...common };
}

function creating(rows: RowSource): Write {
  return {
    type: 'TableCreateRequested',
    teamId: team.id,
    tableId: randomUUID(),
    name: 'new',
    columns: null,
    appsToLink: null,
    rows,
    ...common,
  };
}

/** What becomes of requests that are decided in one batch. */
async function decided(...writes: readonly Write[]): Promise<readonly string[]> {
  const outcomes = await log.project(
    0,
    1,
    writes.map((data) => team.event(data)),
  );
  return outcomes.map((outcome) => (outcome.status === 'refused' ? outcome.refusal.type : 'applied'));
}

describe.each([
  ['of a stash', stash],
  ['of a body', body],
])('the rows %s are not read', (_name, rows) => {
  test.each<[string, () => Write, string]>([
    ['for a table that is not there', () => adding(rows, missing), 'table_not_found'],
    ['to overwrite a table that is not there', () => overwriting(rows, missing), 'table_not_found'],
    ['for a table that has changed', () => adding(rows, table, 0n), 'precondition_failed'],
    ['to overwrite a table that has changed', () => overwriting(rows, table, 0n), 'precondition_failed'],
  ])('rows are not read %s', async (_case, write, refusal) => {
    expect(await decided(write())).toEqual([refusal]);
    expect(read).toEqual([]);
  });

  test.each([adding, overwriting, creating])('for a team that is suspended: %p', async (write) => {
    await team.project(1, [team.event({ type: 'TeamSuspended', teamId: team.id })]);
    expect(await decided(write(rows))).toEqual(['payment_required']);
    await team.project(1, [team.event({ type: 'TeamResumed', teamId: team.id })]);
    expect(read).toEqual([]);
  });
});

test('an event before it in the same batch decides whether rows are read', async () => {
  const created = creating({ kind: 'none' });
  expect(await decided(created, adding(stash, created.tableId), adding(body, created.tableId))).toEqual([
    'applied',
    'applied',
    'applied',
  ]);
  expect(read.length).toBeGreaterThanOrEqual(2);
});
