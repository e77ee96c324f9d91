/**
 * A large import is being stored while other commands write to the same table. Each of these must see the imported
 * rows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Service } from '../../../../src/app/service.ts';
import type { Outcome } from '../../../../src/language/events/outcome.ts';
import { openOperator } from '../../../support/open-operator.ts';
import { DrivenTeam, logOf } from '../../../replay/driven-team.ts';
import { createGeneratedLog, type GeneratedLog } from '../../../replay/generated-log.ts';
import { chooseSeed } from '../../../support/random.ts';

const partition = 5;
/**
 * More than the engine remembers of one batch (`extentsMax` in remembered-tables.ts), so the batch after it must wait.
 */
const chunks = 10_100;
const putsAtOnce = 505;

let generated: GeneratedLog;
let service: Service;

beforeAll(async () => {
  generated = await createGeneratedLog({
    seed: chooseSeed(),
    teams: 1,
    eventsOfTeam: 20,
    blocksOfTeam: 1,
    rowsOfBlock: 10,
  });
  service = await openOperator(generated.environment);
});

afterAll(async () => {
  await service?.close();
  await generated?.drop();
});

test('rows that are added while it is stored come behind its rows', async () => {
  const team = await DrivenTeam.create(logOf(service), partition);
  const tableId = await team.table('{"n":0}');
  for (let first = 0; first < chunks; first += putsAtOnce) {
    await team.project(
      1,
      await Promise.all(
        Array.from({ length: putsAtOnce }, (_, at) => team.puttingChunk('many', ['{"n":1}'], String(first + at))),
      ),
    );
  }
  let imported = false;
  const outcomes: Promise<Outcome>[] = [
    service.log.append(partition, team.importing(tableId, 'many')).finally(() => {
      imported = true;
    }),
  ];
  // Storing the import takes longer than the pause here, so some of these events arrive meanwhile.
  while (!imported) {
    outcomes.push(service.log.append(partition, await team.adding(tableId, 'few', ['{"n":2}'])));
    await sleep(5);
  }
  for (const outcome of await Promise.all(outcomes)) expect(outcome.status).toBe('applied');
  const {
    rows: [found],
  } = await service.database.pool.query(
    'select tables.rows::int, sum(extents.rows)::int as in_extents from tables join extents on extents.table_id = tables.id where tables.id = $1 group by tables.id',
    [tableId],
  );
  const rows = 1 + chunks + outcomes.length - 1;
  expect(found).toEqual({ rows, in_extents: rows });
});
