/** Attacks with SQL. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeRows, rowsPerRequest, seededRandom } from '../data.ts';
import { caller, head, withBody, type Target } from '../requests.ts';
import type { Attack } from './attack.ts';

/** How many queries run at once. */
const queriesAtOnce = 4;

/**
 * Queries that use all available processors, longer than the time limit or again and again. The last two cannot be
 * interrupted.
 */
const expensive = [
  'SELECT count(*) FROM range(100000) a, range(100000) b WHERE (a.range * b.range) % 7 = 3',
  'SELECT max(place) FROM (SELECT row_number() OVER (ORDER BY hash(range)) AS place FROM range(1000000))',
  'SELECT count(*) AS many FROM numbers a, numbers b, numbers c WHERE a.seats + b.seats > c.seats GROUP BY a.seats ORDER BY many',
  'SELECT list_sum(list_transform(l, a -> list_sum(list_transform(l, b -> a * b % 7)))) FROM (SELECT range(2000) AS l)',
  'SELECT list_sum(list_transform(l, a -> len(list_intersect(l, m)))) FROM (SELECT range(1000) AS l, range(10, 1010) AS m)',
];

const small = [
  'SELECT count(*), max(seats) FROM numbers',
  'SELECT seats, count(*) AS many FROM numbers GROUP BY seats ORDER BY many DESC LIMIT 10',
];

/** A query that exceeds the time limit and cannot be interrupted. */
const endless =
  'SELECT list_sum(list_transform(l, a -> list_sum(list_transform(l, b -> len(list_intersect(l, m)))))) FROM (SELECT range(5000) AS l, range(10, 5010) AS m)';

export const sqlProcessors: Attack = {
  name: 'sql-processors',
  what: 'SQL that takes all processors, four queries at once',
  insteadOf: 'four small queries at once',
  teams: 1,
  async prepare([target], isHarmful) {
    const rows = makeRows(seededRandom(7), rowsPerRequest);
    await caller(target)('POST', '/tables', JSON.stringify({ name: 'numbers', rows }), 'application/json');
    const requests = (isHarmful ? expensive : small).map((sql) => requestOf(target, sql));
    await ask(target, small[0]!);
    let count = 0;
    return (run) => run.repeat(target, queriesAtOnce, () => requests[(count += 1) % requests.length]!);
  },
};

export const sqlDeaths: Attack = {
  name: 'sql-deaths',
  what: 'every two seconds, another team sends SQL that ends the process for SQL',
  insteadOf: 'the same teams send small queries over 4 connections',
  // A team must wait for ten minutes after its SQL has ended the process.
  teams: 24,
  async prepare(teams, isHarmful) {
    await ask(teams[0], 'SELECT 1');
    let count = 0;
    const next = (sql: string): Buffer => requestOf(teams[(count += 1) % teams.length]!, sql);
    if (!isHarmful) return (run) => run.repeat(teams[0], queriesAtOnce, () => next('SELECT 1'));
    return async (run) => {
      while (!run.signal.aborted) {
        const socket = connect({ host: '127.0.0.1', port: teams[0].ports[0]! });
        socket.on('error', () => undefined);
        // A team that must wait gets 429.
        socket.on('data', (bytes) => run.count(Number(bytes.toString('latin1', 9, 12))));
        await once(socket, 'connect');
        socket.write(next(endless));
        await sleep(2000, undefined, { signal: run.signal }).catch(() => undefined);
        // The process interrupts SQL that nobody waits for, and ends if that SQL continues.
        socket.destroy();
        run.count('closed');
      }
    };
  },
};

/** Sends SQL and reads the answer, so that the process for SQL runs. */
async function ask({ ports, token }: Target, sql: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${ports[0]}/query`, {
    method: 'POST',
    headers: { 'authorization': `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sql }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${sql}: ${response.status} ${text.slice(0, 500)}`);
}

function requestOf(target: Target, sql: string): Buffer {
  return withBody(head(target, 'POST', '/query'), Buffer.from(JSON.stringify({ sql })));
}
