/**
 * A replay looks up a row before it decides the patch of that row. If another patch changes the row in between, the
 * newer row counts.
 */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { RememberedTables } from '../../projections/tables/remembered-tables.ts';
import type { Service } from '../../src/app/service.ts';
import { verify } from '../../src/operations/replay/verify.ts';
import { openOperator } from '../support/open-operator.ts';
import { chooseSeed, Random } from '../support/random.ts';
import { DrivenTeam, logOf } from './driven-team.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

/**
 * Twice as many patches. The first 1,500 records of a partition are on their way before any batch is decided: nothing
 * is remembered yet with which rows could be found.
 */
const rows = 2000;
const seed = chooseSeed();

let generated: GeneratedLog;
let service: Service;

beforeAll(async () => {
  generated = await createGeneratedLog({ seed, teams: 1, eventsOfTeam: 20, blocksOfTeam: 1, rowsOfBlock: 10 });
  service = await openOperator(generated.environment);
});

afterAll(async () => {
  await service?.close();
  await generated?.drop();
});

test('rows that are patched again a few batches later', async () => {
  const random = new Random(seed);
  const team = await DrivenTeam.create(logOf(service), 5);
  const tableId = await team.table();
  const first = await team.add(
    tableId,
    'block',
    ...Array.from({ length: rows }, (_, at) => `{"n":${at},"a":"row ${at}"}`),
  );
  // Each sets one of two columns: whoever takes an older row loses the other one.
  const patching = Array.from({ length: rows }, (_, at) => {
    const [once, again] = [at, Math.max(0, at - random.below(200))].map((index) => ({
      ...first,
      index: first.index + index,
    }));
    return [team.patching(tableId, once!, `{"n":${-at}}`), team.patching(tableId, again!, `{"a":"patch ${at}"}`)];
  });
  await team.project(1, await Promise.all(patching.flat()));

  let found = 0;
  const { lookAhead } = RememberedTables.prototype;
  const spy = jest.spyOn(RememberedTables.prototype, 'lookAhead').mockImplementation(function count(
    this: RememberedTables,
    named,
    find,
  ) {
    return lookAhead.call(this, named, async (wanted) => {
      const visible = await find(wanted);
      found += visible.length;
      return visible;
    });
  });
  const { differences } = await verify({
    url: generated.url,
    log: generated.log,
    batchEvents: 50,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  expect(differences).toEqual([]);
  expect(found).toBeGreaterThan(0);
  spy.mockRestore();
});
