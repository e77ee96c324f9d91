/**
 * The client: a process of its own, controlled through `startClient`. It loads a table into a server, and then runs
 * workloads on that table. An answer with an unexpected status ends the work with an error.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { Connection } from './connection.ts';
import { below, makeRow, makeRows, rowsPerRequest, seededRandom, type Random } from './data.ts';
import type { Measurement, Workload } from './measurements.ts';
import { createTable, expectStatus, head, withBody, type Target } from './requests.ts';

/** A request to the client. Each request gets one reply, in order. `rows` is a multiple of `rowsPerRequest`. */
export type ClientRequest =
  | { do: 'load'; target: Target; rows: number; connections: number }
  | { do: 'patch'; target: Target; rows: number; connections: number }
  | { do: 'measure'; target: Target; measurement: Measurement; seconds: number; seed: number };

/** Response times in milliseconds, and responses per second. */
export interface Timing {
  p50: number;
  p99: number;
  rate: number;
}

/** The result of a measurement; `figure` is in the unit of the measurement. */
export interface Measured {
  figure: number;
  timing: Timing;
  /** The number of all requests, including the lead-in. */
  requests: number;
}

/** The reply to a load has no measurement. */
export type ClientReply = { measured?: Measured } | { error: string };

/** One request, or a few that belong together; resolves to the number of requests or rows answered. */
type Step = () => Promise<number>;

/** A loaded table. */
interface Table {
  path: string;
  rowIDs: string[];
}

const dataSeed = 20_240_229;
/** Answers in this lead-in are not counted. Meanwhile connections open, and their requests get out of step. */
const leadInMs = 300;

const rowIDKey = Buffer.from('"$rowID":');
const continuationKey = Buffer.from('"continuation":"');

/** The table of each target, by its first port. */
const tables = new Map<number, Table>();
/** Request bodies for adding rows, made in advance so that making them is not measured. */
const addBodies = Array.from({ length: 16 }, (_, index) => rowsBody(seededRandom(dataSeed + 1 + index)));
let patches = 0;

function rowsBody(random: Random): Buffer {
  return Buffer.from(JSON.stringify(makeRows(random, rowsPerRequest)));
}

function openConnections({ ports }: Target, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => Connection.open(ports[index % ports.length]!)));
}

/** Loads the table, and checks that the server returns what was sent. */
async function load({ target, rows, connections }: ClientRequest & { do: 'load' }): Promise<void> {
  const open = await openConnections(target, connections);
  try {
    const { path } = await createTable(open[0]!, target);
    const random = seededRandom(dataSeed);
    const blocks: string[][] = [];
    let begun = 0;
    await Promise.all(
      open.map(async (connection) => {
        while (begun < rows / rowsPerRequest) {
          const block = begun++;
          const request = withBody(head(target, 'POST', `${path}/rows`), rowsBody(random));
          blocks[block] = JSON.parse(expectStatus(201, await connection.send(request)).toString()).data.rowIDs;
        }
      }),
    );
    const table: Table = { path, rowIDs: blocks.flat() };
    deepStrictEqual(table.rowIDs.length, rows);
    await checkTable(open[0]!, target, table);
    tables.set(target.ports[0]!, table);
  } finally {
    for (const connection of open) connection.close();
  }
}

async function checkTable(connection: Connection, target: Target, table: Table): Promise<void> {
  const request = `${head(target, 'GET', `${table.path}/rows/${table.rowIDs[0]}`)}\r\n`;
  const { $rowID: _, ...row } = JSON.parse(expectStatus(200, await connection.send(request)).toString()).data;
  deepStrictEqual(row, makeRow(seededRandom(dataSeed)));
  let rowsListed = 0;
  let continuation: string | undefined;
  do {
    const page = await readPage(connection, target, table, continuation);
    rowsListed += page.rows;
    continuation = page.continuation;
  } while (continuation !== undefined);
  deepStrictEqual(rowsListed, table.rowIDs.length);
}

/** Makes the step that each connection repeats. */
type StepMaker = (target: Target, table: Table, random: Random) => (connection: Connection) => Step;

const workloads: Record<Workload, StepMaker> = {
  get: getSteps,
  list: listSteps,
  patch: patchSteps,
  batch: batchSteps,
  add: addSteps,
};

/** Reads a random row. */
function getSteps(target: Target, { path, rowIDs }: Table, random: Random): (connection: Connection) => Step {
  const [beforeID, afterID] = head(target, 'GET', `${path}/rows/\0`).split('\0');
  return (connection) => async () => {
    const rowID = rowIDs[below(random, rowIDs.length)]!;
    expectStatus(200, await connection.send(`${beforeID}${rowID}${afterID}\r\n`));
    return 1;
  };
}

/** Reads the next page of a walk through the table, which restarts after the last page. */
function listSteps(target: Target, table: Table): (connection: Connection) => Step {
  return (connection) => {
    let continuation: string | undefined;
    return async () => {
      const page = await readPage(connection, target, table, continuation);
      continuation = page.continuation;
      return page.rows;
    };
  };
}

/** Sets one column of a random row to a new value, so that every patch has an effect. */
function patchSteps(target: Target, { path, rowIDs }: Table, random: Random): (connection: Connection) => Step {
  const [beforeID, afterID] = head(target, 'PATCH', `${path}/rows/\0`).split('\0');
  return (connection) => async () => {
    const rowID = rowIDs[below(random, rowIDs.length)]!;
    const body = `{"seats":${1_000_000 + patches++}}`;
    const bodyHead = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    expectStatus(200, await connection.send(`${beforeID}${rowID}${afterID}${bodyHead}${body}`));
    return 1;
  };
}

/** Sets one column of 1,000 random rows to new values, with one request. */
function batchSteps(target: Target, { path, rowIDs }: Table, random: Random): (connection: Connection) => Step {
  const requestHead = head(target, 'POST', `${path}/batch`);
  return (connection) => async () => {
    const chosen = new Set<string>();
    while (chosen.size < rowsPerRequest) chosen.add(rowIDs[below(random, rowIDs.length)]!);
    const operations = [...chosen].map(
      (rowID) => `{"op":"patch","rowID":"${rowID}","row":{"seats":${1_000_000 + patches++}}}`,
    );
    const body = Buffer.from(`{"operations":[${operations.join(',')}]}`);
    expectStatus(200, await connection.send(withBody(requestHead, body)));
    return rowsPerRequest;
  };
}

/** Adds 1,000 rows to the table that was created for this measurement. */
function addSteps(target: Target, { path }: Table, random: Random): (connection: Connection) => Step {
  const requests = addBodies.map((body) => withBody(head(target, 'POST', `${path}/rows`), body));
  return (connection) => async () => {
    expectStatus(201, await connection.send(requests[below(random, requests.length)]!));
    return rowsPerRequest;
  };
}

interface Page {
  rows: number;
  continuation: string | undefined;
}

/** Counts the rows and finds the last key without parsing the rows, which would take as long as serving them. */
async function readPage(
  connection: Connection,
  target: Target,
  { path }: Table,
  continuation: string | undefined,
): Promise<Page> {
  const place = continuation === undefined ? '' : `&continuation=${encodeURIComponent(continuation)}`;
  const request = `${head(target, 'GET', `${path}/rows?limit=${rowsPerRequest}${place}`)}\r\n`;
  const body = expectStatus(200, await connection.send(request));
  let rows = 0;
  for (let at = body.indexOf(rowIDKey); at >= 0; at = body.indexOf(rowIDKey, at + rowIDKey.length)) rows++;
  const keyAt = body.lastIndexOf(continuationKey);
  if (keyAt < 0) return { rows, continuation: undefined };
  const valueAt = keyAt + continuationKey.length;
  return { rows, continuation: body.toString('utf8', valueAt, body.indexOf('"', valueAt)) };
}

/** Patches `rows` random rows. */
async function patch({ target, rows, connections }: ClientRequest & { do: 'patch' }): Promise<void> {
  const open = await openConnections(target, connections);
  try {
    const stepOf = patchSteps(target, tables.get(target.ports[0]!)!, seededRandom(dataSeed));
    let begun = 0;
    await Promise.all(
      open.map(async (connection) => {
        const step = stepOf(connection);
        while (begun++ < rows) await step();
      }),
    );
  } finally {
    for (const connection of open) connection.close();
  }
}

async function measure({ target, measurement, seconds, seed }: ClientRequest & { do: 'measure' }): Promise<Measured> {
  const connections = await openConnections(target, measurement.connections);
  try {
    const table =
      measurement.workload === 'add' ? await createTable(connections[0]!, target) : tables.get(target.ports[0]!)!;
    const stepOf = workloads[measurement.workload](target, table, seededRandom(seed));
    const start = performance.now() + leadInMs;
    const end = start + seconds * 1_000;
    const times: number[] = [];
    let [answered, requests] = [0, 0];
    await Promise.all(
      connections.map(async (connection) => {
        const step = stepOf(connection);
        for (let before = performance.now(), after = before; after < end; before = after) {
          const count = await step();
          after = performance.now();
          requests += 1;
          if (after < start || after >= end) continue;
          answered += count;
          times.push(after - before);
        }
      }),
    );
    if (times.length === 0) throw new Error(`no answer in ${seconds} s`);
    const sorted = times.toSorted((a, b) => a - b);
    const timing = {
      p50: sorted[times.length >> 1]!,
      p99: sorted[Math.floor(times.length * 0.99)]!,
      rate: answered / seconds,
    };
    return { figure: measurement.unit === 'ms p50' ? timing.p50 : timing.rate, timing, requests };
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function replyTo(request: ClientRequest): Promise<ClientReply> {
  try {
    if (request.do === 'measure') return { measured: await measure(request) };
    await (request.do === 'load' ? load(request) : patch(request));
    return {};
  } catch (error) {
    const what = request.do === 'measure' ? request.measurement.name : request.do;
    return { error: `${what}: ${(error as Error).message}` };
  }
}

process.on('message', (request: ClientRequest) => {
  void replyTo(request).then((reply) => process.send!(reply));
});
// Otherwise the client would outlive a parent that was killed.
process.on('disconnect', () => process.exit());
// Ctrl-C signals the whole process group; the parent ends the client when it is done with it.
process.on('SIGINT', () => {});
