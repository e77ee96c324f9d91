import pg from 'pg';
import { mkdtemp } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { deploy } from './deployment.ts';
import { CutLine } from './cut-line.ts';
import { randomFrom, work } from './load.ts';
import { createRecordedTable, RecordedTable } from './recorded-table.ts';
const mix = { patch: 12, add: 4, delete: 3, head: 1, addBlock: 0.6, addBody: 0.4, addRefused: 0.3, create: 0.3 };
const postgres = await startEmbeddedPostgres({ folder: await mkdtemp('/tmp/f/pg-'), log: () => {} });
process.env.NODE_OPTIONS = '--import /tmp/f/dbg.mjs';
process.env.LOG_LEVEL_X = '';
for (let n = 0; n < Number(process.argv[2] ?? 6); n++) {
  const seed = Number(process.argv[3] ?? 1000) + n;
  const admin = new pg.Client(postgres.url); await admin.connect();
  await admin.query(`create database d${n}`);
  const url = new URL(postgres.url); url.pathname = `/d${n}`;
  const line = await CutLine.open(Number(url.port)); url.port = String(line.port);
  const d = await deploy(2, url.href);
  const created = await createRecordedTable(d.clients[0]!, 8);
  let goesOn = true;
  const working = Promise.all(Array.from({ length: 12 }, (_, k) => work(new RecordedTable(`c${k}`, d.clients[k % 2]!, created.tableId, created.recorder), created.rows, mix, randomFrom(seed + k), async () => { await sleep(5); return goesOn; })));
  const random = randomFrom(seed);
  for (let t = 0; t < 20; t++) { await sleep(50 + random() * 300); line.cut(); }
  await sleep(500);
  goesOn = false; await working;
  const t0 = performance.now();
  let done = false;
  const stopping = d.stop().then(() => { done = true; }, (e) => { done = true; console.log('stop', e.message); });
  for (let i = 0; i < 150 && !done; i++) await sleep(100);
  console.log(n, 'done', done, Math.round(performance.now() - t0), created.recorder.unexpected);
  if (!done) {
    for (const s of d.servers) if (s.process.exitCode === null) { process.kill(s.process.pid!, 'SIGUSR2'); await sleep(500); console.log(s.process.pid, s.output().slice(-3000)); }
    const { rows } = await admin.query(`select pid, application_name, state, wait_event_type, wait_event, left(query, 100) q, now() - state_change as since, client_port, pg_blocking_pids(pid) b from pg_stat_activity where datname = 'd${n}'`);
    console.table(rows.map(r => ({...r, since: JSON.stringify(r.since), b: r.b.join()})));
    for (const s of d.servers) s.process.kill('SIGKILL');
    await stopping; await line.close(); await admin.end(); break;
  }
  await line.close(); await admin.end();
}
await postgres.stop();
