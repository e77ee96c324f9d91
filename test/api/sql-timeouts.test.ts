/** docs/spec/queries.md, "SQL": a query that takes too long is ended, and the engine goes on. */
import { beforeAll, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';

const { api } = useOwnApi({ QUERY_TIMEOUT_MS: '2000' });

let team: Team;

beforeAll(async () => {
  team = await api().createTeam();
});

const ask = (sql: string): Promise<Answer> => team.client.post('/query', { sql });

const engineAnswers = (): Promise<void> =>
  sleepUntil(async () => outcomeOf(await ask('SELECT 1')) === '200', 'the engine answers');

test.each([
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n',
  'SELECT count(*) FROM range(1000000000000)',
  'SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000) c WHERE a.range + b.range = c.range - 1',
])('SQL that takes too long is interrupted: %s', async (sql) => {
  expect(outcomeOf(await ask(sql))).toBe('408 query_timeout');
  await engineAnswers();
});

/**
 * Lists within lists: `depth` lambdas, each over a hundred elements, around an expression. A step of DuckDB that
 * nothing interrupts.
 */
function nested(depth: number, inside: string): string {
  return depth === 0 ? inside : `list_sum(list_transform(range(100), x${depth} -> ${nested(depth - 1, inside)}))`;
}

// Far more work than a fast machine does between the limit and the engine's end: a query that ends in between is not
// stuck.
test.each([`SELECT ${nested(6, 'x1')}`, `SELECT ${nested(5, 'len(list_intersect(range(100), range(50, 150)))')}`])(
  '%s cannot be interrupted: the engine ends itself, and the team has to wait',
  async (sql) => {
    const { client } = await api().createTeam();
    expect(outcomeOf(await client.post('/query', { sql }))).toBe('408 query_timeout');
    await sleepUntil(
      async () => outcomeOf(await client.post('/query', { sql: 'SELECT 1' })) === '429 rate_limited',
      'the team waits',
    );
    expect(Number((await client.post('/query', { sql: 'SELECT 1' })).headers.get('retry-after'))).toBeGreaterThan(500);
    await engineAnswers();
  },
);
