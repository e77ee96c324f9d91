/** An index finds each kind of garbage, however large the tables are. */
import { beforeAll, expect, test } from '@jest/globals';
import type pg from 'pg';
import { garbageOf } from '../../../src/log/garbage.ts';
import { models } from '../../../projections/models.ts';
import type { Database } from '../../../src/storage/database/database.ts';
import { useReadModel } from '../../support/read-model.ts';

const { database } = useReadModel(3, 'file');

/** So many rows, all of which are of use, and the time of the newest. */
const rows = 20_000;
const now = 1_800_000_000_000;
const week = 7 * 24 * 3_600_000;

/** A UUID for each number. */
const id = (number: string): string => `lpad(to_hex(${number}), 32, '0')::uuid`;

/** Large tables without garbage, except a little of each kind: that makes each statement of a kind look for more. */
const fill = `
  update progress set time = ${now};
  insert into teams (id, partition, name, created, suspended, rows, tables, stashes, open_bodies, open_uploads,
  open_upload_bytes, upload_bytes)
    select ${id('n')}, n % 3, 't', n, false, 0, 0, 0, 0, 0, 0, 0 from generate_series(1, 200) n;
  insert into outcomes (partition, command_id, log_offset, time)
    select n % 3, ${id('n')}, n, ${now} - (${rows} - n) - case when n < 100 then ${3 * week} else 0 end from generate_series(1, ${rows}) n;
  insert into body_blocks (body_id, number, team_id, segment, profile, time)
    select ${id('n')}, 0, ${id('1 + n % 200')}, -n, '[0,0,0,[]]', ${now} - case when n < 100 then ${week} else 0 end from generate_series(1, ${rows}) n;
  insert into tables (id, team_id, name, created, created_at, version, generation, schema_version, widened, rows,
  row_bytes_max, deleted, retains_ids, forgotten)
    select ${id('n')}, ${id('1 + n % 200')}, 't', n, 0, n, n, n, 0, 0, 0, n % 2 = 0, false, n < 10 from generate_series(1, ${rows}) n;
  insert into generations (table_id, version, ended, ended_at, schema_version, widened, expired, cleared)
    select ${id('n')}, n - 1, n, ${now} - case when n < 100 then ${3 * week} else 0 end, n - 1, 0, n % 4 > 0 and n < 100, n % 4 > 1 and n < 100
    from generate_series(1, ${rows}) n;
  insert into segments (key, rows, idle_since, dropped, emptied)
    select n, 1, case when n < 200 then now() - interval '1 day' end, n < 5, n < 5 from generate_series(1, ${rows}) n;
  insert into segment_rows (segment, index, body) select n, 0, '{"old":1}' from generate_series(1, ${rows}) n;
  insert into retained_ids (segment, index, id) select n, 0, 'id' from generate_series(1, ${rows}) n;
  insert into file_references (team_id, file, segment, index) select ${id('1')}, 'f' || n, n, 0 from generate_series(1, ${rows}) n;
  insert into extents (key, table_id, version, ordinal, generation, schema_version, wrap, rule, cells, retained,
  segment, first, rows, bytes, changed, deleted, erase_at)
    select n, ${id('n')}, n - n % 2, 0, n - n % 2, n, false, 1, false, '\\x0000000000000001', n, 0, 1, 2, true, 0,
      now() + case when n < 1000 then '0' else interval '1 h' end from generate_series(1, ${rows}) n;
  insert into changes (extent, index, version, body) select n, 0, n, '{"a":1}' from generate_series(1, ${rows}) n;
  insert into change_references (team_id, file, extent, index) select ${id('1')}, 'f' || n, n, 0 from generate_series(1, ${rows}) n;
  insert into table_schemas (table_id, version, columns, look_at, superseded)
    select ${id('n')}, n + n % 2, '[]', now() + interval '1 h' - case when n < 200 then interval '1 day' else '0' end, n < 50 from generate_series(1, ${rows}) n;
  insert into row_keys (table_id, since, hash, extent, index) select ${id('n')}, n, ${id('n')}, n, 0 from generate_series(1, ${rows}) n;
  insert into ended_keys (table_id, since) select ${id('n')}, n from generate_series(1, ${rows}) n where n < 100;
  insert into key_preparations (table_id, since, columns, is_taken, touched_at)
    select ${id('n')}, -n, '[]', n < 5, now() - case when n < 100 then interval '1 day' else '0' end from generate_series(1, ${rows}) n;
  insert into prepared_places (table_id, since, extent, first, hashes) select ${id('n')}, -n, n, 0, '' from generate_series(1, ${rows}) n;
  insert into app_links (table_id, app_id) select ${id('n')}, 'app' from generate_series(1, ${rows}) n;
  insert into stashes (key, team_id, stash_id, created, created_at, expires_at, chunks, rows, profiled_columns, words,
  ended_at, cleared)
    select n, ${id('1 + n % 200')}, 's', n, 0, 0, 0, 0, 0, 0, case when n < 100 or n % 2 = 0 then ${now} - case when n < 100 then ${3 * week} else 0 end end,
      n < 50 or (n >= 100 and n % 2 = 0) from generate_series(1, ${rows}) n;
  insert into chunk_blocks (chunk, number, stash, serial, segment, rows, profiled_columns, profile)
    select n, 0, case when n >= 30 then n end, 's', -n, 1, 0, '[0,0,0,[]]' from generate_series(1, ${rows}) n;`;

/** A node of a plan, as `explain (format json)` returns it. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Plans'?: readonly PlanNode[];
}

function scannedBy(node: PlanNode): string[] {
  const own = node['Node Type'] === 'Seq Scan' ? [node['Relation Name']!] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scannedBy)];
}

/** As large as there are teams, partitions or quarantines: these may be scanned. */
const small = new Set(['progress', 'quarantines', 'teams']);

/** The database, whose statements are explained before they run. */
function explaining(scans: string[]): Database {
  const queryOn =
    (on: Pick<pg.Pool, 'query'>) =>
    async (text: string, values: unknown[] = []): Promise<pg.QueryResult> => {
      // Postgres explains no statements of transactions.
      if (!['begin', 'commit', 'rollback'].includes(text)) {
        const {
          rows: [explained],
        } = await on.query(`explain (format json) ${text}`, values);
        const found = scannedBy(explained['QUERY PLAN'][0].Plan).filter((table) => !small.has(table));
        scans.push(...found.map((table) => `${table}: ${text}`));
      }
      return on.query(text, values);
    };
  const { pool } = database();
  const connect = async (): Promise<object> => {
    const client = await pool.connect();
    return { query: queryOn(client), release: () => client.release() };
  };
  return new Proxy(database(), {
    get: (target, name) => (name === 'pool' ? { query: queryOn(pool), connect } : Reflect.get(target, name, target)),
  });
}

beforeAll(async () => {
  await database().pool.query(fill);
  await database().pool.query('analyze');
});

test.each(Object.entries(garbageOf(models)))('garbage of %s is found by an index', async (_kind, remove) => {
  const scans: string[] = [];
  const explained = explaining(scans);
  const found: number[] = [];
  for (let step = 0; step < 3; step += 1) found.push(await remove(explained, 0));
  expect(found[0]).toBeGreaterThan(0);
  expect(scans).toEqual([]);
});

test('bodies were erased', async () => {
  const {
    rows: [{ erased }],
  } = await database().pool.query(`select count(*)::int as erased from segment_rows where body = '{}'`);
  expect(erased).toBeGreaterThan(0);
});
