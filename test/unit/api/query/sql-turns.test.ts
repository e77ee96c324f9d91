/** When the process for SQL dies, whose SQL runs alone, who is convicted, and who is answered. */
import { expect, test } from '@jest/globals';
import { SqlTurns, type SqlTurn } from '../../../../src/api/query/sql-turns.ts';

const never = new AbortController().signal;
const noTeams: ReadonlySet<string> = new Set();
const crash = { code: null, signal: 'SIGSEGV', reason: null, isCrash: true } as const;

function turnOf(teamId: string): SqlTurn {
  return { teamId, processId: null, verdict: null };
}

/** Whether a query that asks to run does so at once. */
async function entersNow(turns: SqlTurns, turn: SqlTurn, signal: AbortSignal): Promise<boolean> {
  const entering = turns.enter(turn, signal).then(() => true);
  return Promise.race([entering, new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

async function atWork(turns: SqlTurns, teamId: string, processId: string): Promise<SqlTurn> {
  const turn = turnOf(teamId);
  await turns.enter(turn, never);
  turn.processId = processId;
  return turn;
}

test('a team is convicted if the process crashes while only its SQL runs', async () => {
  const turns = new SqlTurns();
  const turn = await atWork(turns, 'a', 'p1');
  turns.ended({ id: 'p1', ...crash }, noTeams);
  expect(turn.verdict).toBe('convicted');
  expect(turns.waitMs('a')).toBeGreaterThan(590_000);
});

test('if several queries of one team run during a crash, the team is convicted and no single query', async () => {
  const turns = new SqlTurns();
  const both = [await atWork(turns, 'a', 'p1'), await atWork(turns, 'a', 'p1')];
  turns.ended({ id: 'p1', ...crash }, noTeams);
  expect(both.map(({ verdict }) => verdict)).toEqual(['team_convicted', 'team_convicted']);
});

test('the SQL of suspects runs alone, and other SQL waits, until one crashes alone and the others are answered', async () => {
  const turns = new SqlTurns();
  const [a, b] = [await atWork(turns, 'a', 'p1'), await atWork(turns, 'b', 'p1')];
  turns.ended({ id: 'p1', ...crash }, noTeams);
  expect([a.verdict, b.verdict, turns.waitMs('a'), turns.waitMs('b')]).toEqual(['suspect', 'suspect', 0, 0]);
  for (const turn of [a, b]) turns.leave(turn);

  expect(await entersNow(turns, a, never)).toBe(true);
  const [other, more] = [turnOf('c'), turnOf('a')];
  const entering = turns.enter(b, never);
  expect(await entersNow(turns, other, never)).toBe(false);
  expect(await entersNow(turns, more, never)).toBe(false);
  a.processId = 'p2';
  turns.ended({ id: 'p2', ...crash }, noTeams);
  expect(a.verdict).toBe('convicted');
  turns.close(a);

  await entering;
  expect(b.verdict).toBeNull();
  expect(await entersNow(turns, turnOf('c'), never)).toBe(false);
  turns.close(b);
  expect(turns.waitMs('b')).toBe(0);
  // All others may run beside each other now.
  expect(await entersNow(turns, turnOf('b'), never)).toBe(true);
  expect(await entersNow(turns, turnOf('d'), never)).toBe(true);
});

test('if the process names the SQL that could not be interrupted, SQL of other teams is not suspected', async () => {
  const turns = new SqlTurns();
  const [a, b] = [await atWork(turns, 'a', 'p1'), await atWork(turns, 'b', 'p1')];
  turns.ended({ id: 'p1', ...crash }, new Set(['a']));
  expect([a.verdict, b.verdict]).toEqual(['convicted', 'innocent']);
});

test('a process that ends without a crash, or without running SQL, makes no team a suspect', async () => {
  const turns = new SqlTurns();
  const [a, b] = [await atWork(turns, 'a', 'p1'), await atWork(turns, 'b', 'p2')];
  turns.ended({ id: 'p1', ...crash, isCrash: false }, noTeams);
  expect([a.verdict, b.verdict, turns.waitMs('a')]).toEqual(['innocent', null, 0]);
});

test('a query that nobody waits for any more does not block the next ones', async () => {
  const turns = new SqlTurns();
  const [a, b] = [await atWork(turns, 'a', 'p1'), await atWork(turns, 'b', 'p1')];
  turns.ended({ id: 'p1', ...crash }, noTeams);
  for (const turn of [a, b]) turns.leave(turn);
  await turns.enter(a, never);
  const gone = new AbortController();
  const leaving = turns.enter(b, gone.signal);
  const waiting = turns.enter(turnOf('c'), never);
  gone.abort(new Error('left'));
  await expect(leaving).rejects.toThrow('left');
  turns.close(b);
  turns.close(a);
  await waiting;
});
