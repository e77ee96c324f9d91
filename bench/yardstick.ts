/**
 * The yardstick: Fastify and pg with one statement per request; no log, no checks, no versions. It shows the most that
 * one Node process can do on the same paths; every figure is a ratio to it.
 *
 * Environment: PORT, DATABASE_URL and TOKEN (the bearer token that it requires).
 */
import Fastify from 'fastify';
import pg from 'pg';

interface ChunkPath {
  stash: string;
  serial: string;
}
interface TablePath {
  table: string;
}
interface RowPath extends TablePath {
  row: string;
}
interface Page {
  limit?: string;
  continuation?: string;
}

const database = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 20 });
await database.query(`
  create table if not exists tabs (id bigserial primary key, name text);
  create table if not exists rws (table_id bigint, row_id bigint, data jsonb not null,
    version bigint not null default 1, primary key (table_id, row_id));
  create table if not exists stash (stash_id text, serial int, body jsonb, primary key (stash_id, serial));
  create sequence if not exists row_seq`);

const rowNotFound = { error: { type: 'row_not_found', message: 'no such row' } };
const authorization = `Bearer ${process.env['TOKEN']}`;
const app = Fastify({ bodyLimit: 64 << 20, logger: false });

app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization === authorization || request.url === '/readyz') return;
  return reply.code(404).send({ error: { type: 'request_error', message: 'no such token' } });
});

// Pass bodies to Postgres as the received text.
app.removeContentTypeParser('application/json');
app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));

app.get('/readyz', async () => 'ok');

app.put<{ Params: ChunkPath; Body: string }>('/stashes/:stash/:serial', async (request) => {
  const { stash, serial } = request.params;
  await database.query({
    name: 'chunk',
    text: 'insert into stash values ($1, $2, $3::jsonb) on conflict (stash_id, serial) do update set body = excluded.body',
    values: [stash, Number(serial), request.body],
  });
  return {};
});

const inlineRows = 'select value from jsonb_array_elements($2::jsonb) with ordinality e (value, n) order by n';
const stashedRows = `select e.value from stash s
cross join lateral jsonb_array_elements(s.body) with ordinality e (value, n)
  where s.stash_id = $2 order by s.serial, e.n`;

app.post<{ Body: string }>('/tables', async (request, reply) => {
  const { name, rows } = JSON.parse(request.body);
  const stash: string | undefined = rows.$stashID;
  const client = await database.connect();
  try {
    await client.query('begin');
    const tableID = (await client.query('insert into tabs (name) values ($1) returning id', [name])).rows[0].id;
    const added = await client.query<[string]>({
      text: `insert into rws (table_id, row_id, data) select $1, nextval('row_seq'), value
        from (${stash === undefined ? inlineRows : stashedRows}) q returning row_id`,
      values: [tableID, stash ?? JSON.stringify(rows)],
      rowMode: 'array',
    });
    await client.query('commit');
    reply.code(201);
    return { data: { tableID: String(tableID), rowIDs: added.rows.map(([id]) => id) } };
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
});

app.post<{ Params: TablePath; Body: string }>('/tables/:table/rows', async (request, reply) => {
  const added = await database.query<[string]>({
    name: 'add',
    text: `insert into rws (table_id, row_id, data) select $1, nextval('row_seq'), value
      from jsonb_array_elements($2::jsonb) with ordinality e (value, n) order by n returning row_id`,
    values: [request.params.table, request.body],
    rowMode: 'array',
  });
  reply.code(201);
  return { data: { rowIDs: added.rows.map(([id]) => id) } };
});

app.get<{ Params: TablePath; Querystring: Page }>('/tables/:table/rows', async (request, reply) => {
  const limit = Math.min(Number(request.query.limit ?? 1000), 10_000);
  const { rows } = await database.query<[string, string]>({
    name: 'page',
    text: 'select row_id, data::text from rws where table_id = $1 and row_id > $2 order by row_id limit $3',
    values: [request.params.table, request.query.continuation ?? '0', limit],
    rowMode: 'array',
  });
  reply.header('content-type', 'application/json');
  const data = rows.map(([id, text]) => `{"$rowID":"${id}",${text.slice(1)}`).join(',');
  return `{"data":[${data}]${rows.length === limit ? `,"continuation":"${rows.at(-1)![0]}"` : ''}}`;
});

app.get<{ Params: RowPath }>('/tables/:table/rows/:row', async (request, reply) => {
  const { rows } = await database.query<[string]>({
    name: 'get',
    text: 'select data::text from rws where table_id = $1 and row_id = $2',
    values: [request.params.table, request.params.row],
    rowMode: 'array',
  });
  if (!rows[0]) return reply.code(404).send(rowNotFound);
  reply.header('content-type', 'application/json');
  return `{"data":${rows[0][0]}}`;
});

app.patch<{ Params: RowPath; Body: string }>('/tables/:table/rows/:row', async (request, reply) => {
  const patched = await database.query({
    name: 'patch',
    text: 'update rws set data = data || $3::jsonb, version = version + 1 where table_id = $1 and row_id = $2',
    values: [request.params.table, request.params.row, request.body],
  });
  if (!patched.rowCount) return reply.code(404).send(rowNotFound);
  return {};
});

app.post<{ Params: TablePath; Body: string }>('/tables/:table/batch', async (request, reply) => {
  const { operations } = JSON.parse(request.body) as { operations: { rowID: string; row: object }[] };
  const patched = await database.query({
    name: 'batch',
    text: `update rws set data = rws.data || patches.data, version = version + 1
      from unnest($2::bigint[], $3::jsonb[]) as patches (row_id, data)
      where table_id = $1 and rws.row_id = patches.row_id`,
    values: [
      request.params.table,
      operations.map(({ rowID }) => rowID),
      operations.map(({ row }) => JSON.stringify(row)),
    ],
  });
  if (patched.rowCount !== operations.length) return reply.code(404).send(rowNotFound);
  return { data: { rowIDs: operations.map(({ rowID }) => rowID) } };
});

await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
