/** The attacks that `npm run bench:attacks` measures, by teams with valid tokens or by somebody without one. */
import { randomUUIDv7 } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeRows, rowsPerRequest, customerSchema, seededRandom } from '../data.ts';
import { caller, head, withBody, type Target } from '../requests.ts';
import type { Attack, LoadRun } from './attack.ts';
import { continuations, wideGroups } from './queries.ts';
import { sqlDeaths, sqlProcessors } from './sql.ts';
import { liveness, reconnects, unreadConsole } from './without-token.ts';

/** The number of connections that send requests as fast as they are answered. */
const connections = 8;

const unknownTable = '/tables/01900000-0000-7000-8000-000000000000';
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const rowsBody = json(makeRows(seededRandom(3), rowsPerRequest));
const largeBody = json(makeRows(seededRandom(4), 13 * rowsPerRequest));
const megabytes = 2 ** 20;

/**
 * Imports one stash again and again. Its chunks have many columns each. It is imported into a missing table, or as a
 * new table that would have too many columns.
 */
const wideImports: Attack = {
  name: 'wide-imports',
  what: 'imports of 40 chunks of 2,000 different columns each, into an unknown table and as a new one',
  insteadOf: 'imports of 40 chunks of the same 10 columns as new tables',
  teams: 1,
  async prepare([target], isHarmful) {
    const call = caller(target);
    const rows = makeRows(seededRandom(5), 1);
    for (let chunk = 0; chunk < 40; chunk += 1) {
      const wide = [Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`c${chunk}_${at}`, at]))];
      await call('PUT', `/stashes/imported/${chunk}`, JSON.stringify(isHarmful ? wide : rows), 'application/json');
    }
    let count = 0;
    const body = json({ name: 'imported', rows: { $stashID: 'imported' } });
    const add = json({ $stashID: 'imported' });
    return (run) =>
      run.repeat(target, connections, () => {
        count += 1;
        return isHarmful && count % 2 === 0
          ? withBody(head(target, 'POST', `${unknownTable}/rows`), add)
          : withBody(head(target, 'POST', '/tables'), body);
      });
  },
};

const refusedBodies: Attack = {
  name: 'refused-bodies',
  what: 'bodies of 4 MB for a table that is not there',
  insteadOf: 'the same bodies, which overwrite a table',
  teams: 1,
  async prepare([target], isHarmful) {
    const { tableID } = await caller(target)(
      'POST',
      '/tables',
      JSON.stringify({ name: 'overwritten', schema: customerSchema, rows: [] }),
      'application/json',
    );
    const request = isHarmful
      ? withBody(head(target, 'POST', `${unknownTable}/rows`), largeBody)
      : withBody(head(target, 'PUT', `/tables/${tableID}`), largeBody);
    return (run) => run.repeat(target, connections, () => request);
  },
};

const tableLists: Attack = {
  name: 'table-lists',
  what: 'lists of 3,000 tables with names of 900 characters, over 100 connections',
  insteadOf: 'lists of 100 tables with short names, over 8',
  teams: 1,
  async prepare([target], isHarmful) {
    const call = caller(target);
    const name = isHarmful ? 'n'.repeat(900) : 'name';
    for (let count = isHarmful ? 3000 : 100; count > 0; count -= 20) {
      await Promise.all(
        Array.from({ length: 20 }, () =>
          call('POST', '/tables', JSON.stringify({ name, rows: [] }), 'application/json'),
        ),
      );
    }
    const request = Buffer.from(`${head(target, 'GET', '/tables')}\r\n`);
    return (run) => run.repeat(target, isHarmful ? 100 : connections, () => request);
  },
};

const slowReaders: Attack = {
  name: 'slow-readers',
  what: '500 readers that read 100 bytes a second of pages of 16 MiB',
  insteadOf: 'readers of the same pages over 8 connections',
  teams: 1,
  async prepare([target], isHarmful) {
    const call = caller(target);
    const rows = Array.from({ length: 5000 }, () => ({ text: 'x'.repeat(2000) }));
    const { tableID } = await call('POST', '/tables', JSON.stringify({ name: 'pages', rows }), 'application/json');
    for (let count = 0; count < 2; count += 1)
      await call('POST', `/tables/${tableID}/rows`, JSON.stringify(rows), 'application/json');
    const request = Buffer.from(`${head(target, 'GET', `/tables/${tableID}/rows`)}\r\n`);
    if (!isHarmful) return (run) => run.repeat(target, connections, () => request);
    return (run) =>
      run.keepOpen(target, 500, async (socket) => {
        socket.pause();
        socket.write(request);
        while (!socket.destroyed && !run.signal.aborted) {
          await sleep(1000, undefined, { signal: run.signal });
          socket.read(100);
        }
      });
  },
};

const manyWrites: Attack = {
  name: 'many-writes',
  what: 'patches of rows over 1,000 connections',
  insteadOf: 'the same over 32',
  teams: 1,
  async prepare([target], isHarmful) {
    const { path, rowIDs } = await tableOf(target);
    let patches = 0;
    return (run) =>
      run.repeat(target, isHarmful ? 1000 : 32, () => {
        patches += 1;
        return withBody(
          head(target, 'PATCH', `${path}/rows/${rowIDs[patches % rowIDs.length]}`),
          Buffer.from(`{"seats":${patches}}`),
        );
      });
  },
};

const slowBodies: Attack = {
  name: 'slow-bodies',
  what: 'bodies of rows over 1,000 connections, each of which sends 1 KiB a second',
  insteadOf: '1,000 rows a request over 8',
  teams: 1,
  async prepare([target], isHarmful) {
    const { path } = await tableOf(target);
    const request = withBody(head(target, 'POST', `${path}/rows`), isHarmful ? largeBody : rowsBody);
    if (!isHarmful) return (run) => run.repeat(target, connections, () => request);
    return (run) => run.keepOpen(target, 1000, (socket) => sendSlowly(run, socket, request, 0));
  },
};

/**
 * Each body first sends this many bytes, so that it takes a place (docs/reference/limits.md), and then becomes slow.
 */
const quickBytes = 128 * 1024;

const slowTeams: Attack = {
  name: 'slow-teams',
  what: 'seven teams send bodies of rows over 20 connections each, of which 1 KiB a second comes after the first 128 KiB',
  insteadOf: 'seven teams send 1,000 rows a request over 2 connections each',
  teams: 7,
  async prepare(teams, isHarmful) {
    const paths = await Promise.all(teams.map(async (team) => (await tableOf(team)).path));
    const requests = teams.map((team, at) =>
      withBody(head(team, 'POST', `${paths[at]}/rows`), isHarmful ? largeBody : rowsBody),
    );
    let count = 0;
    const next = (): Buffer => requests[(count += 1) % requests.length]!;
    if (!isHarmful) return (run) => run.repeat(teams[0], 2 * teams.length, next);
    return (run) => run.keepOpen(teams[0], 20 * teams.length, (socket) => sendSlowly(run, socket, next(), quickBytes));
  },
};

const signedPuts: Attack = {
  name: 'signed-puts',
  what: 'files of 10 MiB over 64 connections to the signed URL of one upload',
  insteadOf: 'the same over 2',
  teams: 1,
  async prepare([target], isHarmful) {
    const upload = JSON.stringify({ contentType: 'application/octet-stream', fileName: 'file' });
    const { uploadLocation } = await caller(target)<{ uploadLocation: string }>(
      'POST',
      '/apps/bench/uploads',
      upload,
      'application/json',
    );
    const { pathname, search } = new URL(uploadLocation);
    const bytes = Buffer.alloc(10 * megabytes, 'x');
    const request = Buffer.concat([
      Buffer.from(
        `PUT ${pathname}${search} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\nContent-Length: ${bytes.length}\r\n\r\n`,
      ),
      bytes,
    ]);
    return (run) => run.repeat(target, isHarmful ? 64 : 2, () => request);
  },
};

const unknownTokens: Attack = {
  name: 'unknown-tokens',
  what: 'requests with tokens that nobody has, over 64 connections',
  insteadOf: 'reads of a row over 8',
  teams: 1,
  async prepare([target], isHarmful) {
    const { path, rowIDs } = await tableOf(target);
    const read = Buffer.from(`${head(target, 'GET', `${path}/rows/${rowIDs[0]}`)}\r\n`);
    const guess = (): Buffer =>
      Buffer.from(`${head({ ...target, token: `tablog_${randomUUIDv7()}` }, 'GET', `${path}/rows/${rowIDs[0]}`)}\r\n`);
    return (run) => run.repeat(target, isHarmful ? 64 : connections, isHarmful ? guess : () => read);
  },
};

/** Sends the first bytes of a request at once, and the others at 1 KiB a second. */
async function sendSlowly(run: LoadRun, socket: Socket, request: Buffer, quick: number): Promise<void> {
  socket.on('data', (bytes) => run.count(Number(bytes.toString('latin1', 9, 12))));
  socket.write(request.subarray(0, quick));
  for (let at = quick; at < request.length && !socket.destroyed && !run.signal.aborted; at += 1024) {
    socket.write(request.subarray(at, at + 1024));
    await sleep(1000, undefined, { signal: run.signal });
  }
}

/** A table of 1,000 rows. */
async function tableOf(target: Target): Promise<{ readonly path: string; readonly rowIDs: readonly string[] }> {
  const body = JSON.stringify({ name: 'rows', rows: makeRows(seededRandom(6), rowsPerRequest) });
  const { tableID, rowIDs } = await caller(target)<{ tableID: string; rowIDs: string[] }>(
    'POST',
    '/tables',
    body,
    'application/json',
  );
  return { path: `/tables/${tableID}`, rowIDs };
}

export const attacks: readonly Attack[] = [
  wideImports,
  refusedBodies,
  tableLists,
  slowReaders,
  manyWrites,
  slowBodies,
  slowTeams,
  signedPuts,
  unknownTokens,
  liveness,
  unreadConsole,
  reconnects,
  sqlProcessors,
  sqlDeaths,
  continuations,
  wideGroups,
];
