/**
 * The yardstick for queries: Fastify and pg, which answer SQL on a table of typed columns without an index.
 *
 * Environment: PORT, DATABASE_URL and TOKEN (the bearer token that it requires).
 */
import Fastify from 'fastify';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Statement } from './cases.ts';
import { sqlNames } from './data.ts';

// Keep dates as the texts that Postgres sends, because converting them takes longer.
for (const type of [pg.types.builtins.DATE, pg.types.builtins.TIMESTAMPTZ])
  pg.types.setTypeParser(type, (text) => text);

const database = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 4 });
const authorization = `Bearer ${process.env['TOKEN']}`;
const app = Fastify({ logger: false });

app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization === authorization || request.url === '/readyz') return;
  return reply.code(404).send({ error: { type: 'request_error', message: 'no such token' } });
});

app.get('/readyz', async () => 'ok');

app.post<{ Body: { statements: readonly Statement[] } }>('/query', async (request) => {
  const [first, ...others] = await Promise.all(
    request.body.statements.map(({ text, values }) => database.query(text, [...values])),
  );
  return { data: first!.rows, others: others.map(({ rows }) => rows) };
});

app.get<{ Querystring: { table: string } }>('/export', async (request, reply) => {
  const client = await database.connect();
  const text = client.query(copyTo(`copy ${request.query.table} (${sqlNames}) to stdout (format csv, header)`));
  text.once('close', () => client.release());
  return reply.type('text/csv').send(text);
});

await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
