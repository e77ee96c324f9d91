/**
 * Bodies of blocks while they are open: what counts is the same however the log is cut into batches, and maintenance
 * ends what is over.
 */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { rowLimits } from '../../commands/limits.ts';
import type { EncodedEvent } from '../../src/language/events/event.ts';
import { useReadModel } from '../support/read-model.ts';
import { DrivenLog, DrivenTeam } from './driven-team.ts';
import { packRows } from './row-samples.ts';

const { database } = useReadModel(1, 'test');
const hour = 3_600_000;
let log: DrivenLog;

beforeEach(() => {
  log = new DrivenLog(database());
});

interface Body {
  readonly open: EncodedEvent;
  readonly blocks: readonly EncodedEvent[];
  /** Creates a table of the rows. */
  readonly close: EncodedEvent;
  readonly expire: EncodedEvent;
}

async function bodyOf(team: DrivenTeam): Promise<Body> {
  const bodyId = randomUUID();
  const { id: teamId } = team;
  const { carried, body } = await packRows(['{"a":1}']);
  return {
    open: team.event({ type: 'BodyOpenRequested', teamId, bodyId, limits: { openMax: 10 } }),
    blocks: [0, 1].map((number) =>
      team.event({ type: 'BlockReceived', teamId, bodyId, number, segmentId: randomUUID(), ...carried }, body),
    ),
    close: team.event({
      type: 'TableCreateRequested',
      teamId,
      tableId: randomUUID(),
      name: 'n',
      columns: null,
      onSchemaError: 'abort',
      appsToLink: null,
      limits: rowLimits(10),
      rows: { kind: 'body', bodyId, blocks: 2 },
    }),
    expire: team.event({ type: 'BodyExpired', teamId, bodyId }),
  };
}

/** What the team's row counts, and how many bodies are stored as open. */
async function openBodies({ id }: DrivenTeam): Promise<[counted: number, stored: number]> {
  const {
    rows: [found],
  } = await database().pool.query<{ counted: number; stored: number }>(
    `select open_bodies::int4 as counted, (select count(*)::int4 from open_bodies where team_id = $1) as stored from teams where id = $1`,
    [id],
  );
  return [found!.counted, found!.stored];
}

test.each([1, 2, 3, 100])('in batches of %d', async (batchEvents) => {
  const team = await DrivenTeam.create(log);
  const [closed, left, expired] = [await bodyOf(team), await bodyOf(team), await bodyOf(team)];
  const begin = 10 * hour;
  await team.project(
    begin,
    [left.open, ...left.blocks, closed.open, ...closed.blocks, closed.close, expired.open, ...expired.blocks],
    batchEvents,
  );
  expect(await openBodies(team)).toEqual([2, 2]);
  await team.project(begin + hour, [left.expire, expired.expire], batchEvents);
  expect(await openBodies(team)).toEqual([2, 2]);
  // As maintenance says it, at another time, and twice.
  const over = [1, 2].map(() => team.event(expired.expire.event.data));
  await team.project(begin + hour + 1, over, batchEvents);
  expect(await openBodies(team)).toEqual([1, 1]);
});
