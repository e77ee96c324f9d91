/**
 * The exact shape of every answer of the interface (spec sections 4 and 7, decisions 1 and 3). No key is missing, and
 * no key is undocumented, because clients generated from strict schemas reject extra keys.
 */
import { errorTypes, isErrorType } from '../../src/api/http/answers/error-types.ts';

export interface Exchange {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const rowId: Check = (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{22}$/.test(value);
const tableId: Check = (value) =>
  typeof value === 'string' && /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(value);

const listOf =
  (item: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(item);

/** An object with exactly these keys; a key that ends in `?` is optional. */
function exactly(members: Readonly<Record<string, Check>>): Check {
  const checks = new Map(Object.entries(members).map(([key, check]) => [key.replace('?', ''), check]));
  const required = Object.keys(members).filter((key) => !key.endsWith('?'));
  return (value) =>
    isObject(value) &&
    required.every((key) => Object.hasOwn(value, key)) &&
    Object.entries(value).every(([key, member]) => checks.get(key)?.(member) === true);
}

/** A row: `$rowID`, and no empty column. */
const row: Check = (value) =>
  isObject(value) && rowId(value['$rowID']) && Object.values(value).every((cell) => cell !== null);

const nothing = exactly({});

/**
 * The answers of a route, by status; null: an empty body. `versioned`: all answers except 202 carry the version of the
 * table or row.
 */
interface Shape {
  readonly route: RegExp;
  readonly bodies: Readonly<Record<number, Check | null>>;
  readonly versioned: boolean;
  /** Whether the answer may be CSV. */
  readonly csv?: true;
  /** Headers of answers other than 202. */
  readonly headers?: Readonly<Record<string, RegExp>>;
}

const jobId: Check = (value) => typeof value === 'string' && /^[\w-]{92}$/.test(value);
const count: Check = (value) => Number.isInteger(value) && (value as number) >= 0;
const created = exactly({ 'tableID': tableId, 'rowIDs': listOf(rowId), 'linkedAppIDs?': listOf(text) });
const added = exactly({ rowIDs: listOf(rowId) });
const uploadCreated = exactly({ uploadID: tableId, uploadLocation: text });
const uploadCompleted = exactly({ url: text });
const anyOf =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));
/** The cells that do not fit new types of their columns. */
const misfits = exactly({ misfits: listOf(exactly({ id: text, cells: count, rowID: rowId, value: text })) });
const time: Check = (value) => typeof value === 'string' && new Date(value).toISOString() === value;
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const word =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string);

/** A table as its own path shows it; the schema can be used in a request (spec section 2). */
const columnType = anyOf(text, exactly({ kind: word('array'), items: exactly({ kind: text }) }));
const column = exactly({ 'id': text, 'displayName?': text, 'type': columnType });
const table = exactly({
  id: tableId,
  name: text,
  version: (value) => /^[0-9]+$/.test(String(value)) && typeof value === 'string',
  created: time,
  rows: count,
  schema: exactly({ 'columns': listOf(column), 'key?': listOf(text) }),
  appIDs: listOf(text),
});

/** Spec 4.7, decisions 3: the result is the data of the synchronous answer. */
const job = anyOf(
  exactly({ status: word('running') }),
  exactly({
    status: word('succeeded'),
    result: anyOf(created, added, misfits, uploadCreated, exactly({ uploadID: tableId }), uploadCompleted, nothing),
  }),
  exactly({ status: word('failed'), error: exactly({ message: text }) }),
);
const rowsTotal = orNull(count);
const jobProgress = anyOf(
  exactly({ phase: word('waiting'), rowsDone: count, rowsTotal, eventsAhead: count }),
  exactly({ 'phase': word('done', 'failed'), 'rowsDone': count, rowsTotal, 'cellsDropped?': count }),
);

const listedJob = exactly({
  'id': jobId,
  'operation': text,
  'created': time,
  'tableID': orNull(tableId),
  'stashID': orNull(text),
  'status': word('running', 'succeeded', 'failed'),
  'error?': exactly({ message: text }),
  'progress': jobProgress,
});

const listedUploadOf = (status: string, members: Readonly<Record<string, Check>>): Check =>
  exactly({
    id: tableId,
    appID: text,
    status: word(status),
    contentType: text,
    fileName: text,
    created: time,
    ...members,
  });
const listedUpload = anyOf(
  listedUploadOf('open', { expires: time }),
  listedUploadOf('complete', { size: count, url: text }),
  listedUploadOf('withdrawn', {}),
);

/** What a team learns about its own token. */
const token = exactly({
  id: tableId,
  name: text,
  team: exactly({ id: tableId, name: text }),
  readOnly: (value) => typeof value === 'boolean',
  appID: orNull(text),
  expires: orNull(time),
});

const quota = exactly({ used: count, max: orNull(count), setBy: orNull(word('plan', 'service')) });
const usage = exactly({
  team: exactly({ id: tableId, name: text }),
  suspended: (value) => typeof value === 'boolean',
  quotas: exactly({
    rows: quota,
    tables: quota,
    stashes: quota,
    openBodies: quota,
    openUploads: quota,
    openUploadBytes: quota,
    uploadBytes: quota,
    logBytesPerDay: quota,
  }),
  rateLimits: listOf(exactly({ name: text, max: count, windowSeconds: count, left: count, resetSeconds: count })),
});

const activity = exactly({
  since: time,
  minutes: listOf(
    exactly({
      start: time,
      requests: exactly({ '2xx': count, '3xx': count, '4xx': count, '5xx': count, 'cutOff': count }),
      rowsWritten: count,
      rowsRead: count,
      bytesReceived: count,
      bytesSent: count,
    }),
  ),
  log: exactly({ version: text, eventsBehind: count, halted: orNull(text), quarantinedSince: orNull(time) }),
});

const shapes: readonly Shape[] = [
  {
    route: /^GET \/tables$/,
    versioned: false,
    bodies: { 200: exactly({ 'data': listOf(exactly({ id: tableId, name: text })), 'continuation?': text }) },
  },
  {
    route: /^POST \/tables$/,
    versioned: true,
    bodies: { 201: exactly({ data: created }), 202: exactly({ data: exactly({ tableID: tableId, jobID: jobId }) }) },
  },
  { route: /^GET \/tables\/[^/]*$/, bodies: { 200: exactly({ data: table }), 304: null }, versioned: true },
  { route: /^HEAD \/tables\/[^/]*$/, bodies: { 200: null, 304: null }, versioned: true },
  {
    route: /^PATCH \/tables\/[^/]*$/,
    bodies: { 200: anyOf(nothing, exactly({ data: misfits })) },
    versioned: true,
  },
  { route: /^DELETE \/tables\/[^/]*$/, bodies: { 200: nothing }, versioned: false },
  { route: /^HEAD \/tables\/[^/]*\/rows$/, bodies: { 200: null, 304: null }, versioned: true },
  {
    route: /^GET \/tables\/[^/]*\/rows$/,
    versioned: true,
    csv: true,
    bodies: { 200: exactly({ 'data': listOf(row), 'continuation?': text }), 304: null },
  },
  {
    route: /^POST \/tables\/[^/]*\/rows$/,
    versioned: true,
    bodies: {
      200: exactly({ data: added }),
      201: exactly({ data: added }),
      202: exactly({ data: exactly({ jobID: jobId }) }),
    },
  },
  {
    route: /^(PATCH|DELETE) \/tables\/[^/]*\/rows$/,
    bodies: { 200: exactly({ data: added }) },
    versioned: true,
  },
  {
    route: /^POST \/tables\/[^/]*\/batch$/,
    versioned: true,
    bodies: { 200: exactly({ data: added }), 202: exactly({ data: exactly({ jobID: jobId }) }) },
    headers: { 'tablog-rows': /^added=\d+, patched=\d+, unchanged=\d+, deleted=\d+$/ },
  },
  {
    route: /^POST \/tables\/[^/]*\/query$/,
    versioned: true,
    csv: true,
    bodies: { 200: exactly({ 'data': listOf(isObject), 'continuation?': text }) },
  },
  // Only JSON is checked; other formats are not.
  {
    route: /^GET \/tables\/[^/]*\/export$/,
    versioned: true,
    csv: true,
    bodies: { 200: anyOf(listOf(row), (value) => value === undefined), 304: null },
  },
  {
    route: /^POST \/query$/,
    versioned: false,
    csv: true,
    bodies: {
      200: exactly({
        data: listOf(isObject),
        columns: listOf(exactly({ name: text, type: columnType })),
        versions: isObject,
      }),
    },
  },
  {
    route: /^GET \/jobs$/,
    bodies: { 200: exactly({ 'data': listOf(listedJob), 'continuation?': jobId }) },
    versioned: false,
  },
  { route: /^GET \/jobs\/[^/]*$/, bodies: { 200: exactly({ data: job }) }, versioned: false },
  { route: /^GET \/jobs\/[^/]*\/progress$/, bodies: { 200: exactly({ data: jobProgress }) }, versioned: false },
  {
    route: /^PUT \/tables\/[^/]*$/,
    versioned: true,
    bodies: { 200: exactly({ data: added }), 202: exactly({ data: exactly({ jobID: jobId }) }) },
  },
  { route: /^GET \/tables\/[^/]*\/rows\/[^/]*$/, bodies: { 200: exactly({ data: row }), 304: null }, versioned: true },
  { route: /^(PATCH|DELETE) \/tables\/[^/]*\/rows\/[^/]*$/, bodies: { 200: nothing }, versioned: true },
  { route: /^PUT \/stashes\/[^/]*\/[^/]*$/, bodies: { 200: nothing }, versioned: false },
  { route: /^DELETE \/stashes\/[^/]*$/, bodies: { 200: nothing }, versioned: false },
  {
    route: /^GET \/uploads$/,
    bodies: { 200: exactly({ 'data': listOf(listedUpload), 'continuation?': text }) },
    versioned: false,
  },
  { route: /^POST \/apps\/[^/]*\/uploads$/, bodies: { 200: exactly({ data: uploadCreated }) }, versioned: false },
  {
    route: /^POST \/apps\/[^/]*\/uploads\/[^/]*\/complete$/,
    bodies: { 200: exactly({ data: uploadCompleted }) },
    versioned: false,
  },
  { route: /^DELETE \/apps\/[^/]*\/uploads\/[^/]*$/, bodies: { 200: nothing }, versioned: false },
  { route: /^GET \/token$/, bodies: { 200: exactly({ data: token }) }, versioned: false },
  { route: /^GET \/usage$/, bodies: { 200: exactly({ data: usage }) }, versioned: false },
  { route: /^GET \/activity$/, bodies: { 200: exactly({ data: activity }) }, versioned: false },
  // For these routes, the OpenAPI document alone describes the bodies.
  { route: /^\w+ \/admin\//, bodies: { 200: isObject, 201: isObject }, versioned: false },
  { route: /^GET \/(livez|readyz)$/, bodies: { 200: exactly({ data: exactly({ status: text }) }) }, versioned: false },
];

/** Throws if an answer does not have the shape of the interface. */
export function checkShape(exchange: Exchange): void {
  const { method, path, status, headers, text: body } = exchange;
  const problem = status >= 400 ? problemOfError(exchange) : problemOfSuccess(exchange);
  if (problem === null) return;
  const shown = `${status} ${JSON.stringify(Object.fromEntries(headers))} ${body.slice(0, 1000)}`;
  throw new Error(`${method} ${path}: ${problem} in the answer ${shown}`);
}

function problemOfError({ method, status, headers, text: body }: Exchange): string | null {
  if (status === 405 && !headers.get('allow')) return 'no Allow';
  if ((status === 503 || status === 429) && !/^[0-9]+$/.test(headers.get('retry-after') ?? '')) return 'no Retry-After';
  if (headers.has('etag')) return 'an ETag on a refusal';
  if (method === 'HEAD') return body === '' ? null : 'a body after HEAD';
  const json = parse(headers, body);
  if (!exactly({ error: exactly({ type: text, message: text }) })(json)) return 'a shape that is not that of errors';
  const { error } = json as { error: { type: string; message: string } };
  if (!isErrorType(error.type) || errorTypes[error.type].status !== status) return `the type ${error.type}`;
  return error.message === '' ? 'an empty message' : null;
}

function problemOfSuccess({ method, path, status, headers, text: body }: Exchange): string | null {
  const name = `${method} ${path.split('?')[0]}`;
  const shape = shapes.find(({ route }) => route.test(name));
  if (shape === undefined) return 'a success of an unknown route';
  const check = shape.bodies[status];
  if (check === undefined) return 'an unexpected status';
  const problem =
    status === 202
      ? problemOfAccepted(headers, body)
      : name.startsWith('GET /jobs/')
        ? problemOfJob(headers, body)
        : null;
  if (problem !== null) return problem;
  if (shape.versioned && status !== 202) {
    if (!/^"[0-9]+"$/.test(headers.get('etag') ?? '')) return 'no version as ETag';
    if (headers.get('cache-control') !== 'private, no-cache') return 'another Cache-Control';
    const vary = (headers.get('vary') ?? '').toLowerCase().split(/, */);
    if (!vary.includes('accept-encoding') || !vary.includes('authorization')) return 'another Vary';
  }
  for (const [header, form] of Object.entries(status === 202 ? {} : (shape.headers ?? {})))
    if (!form.test(headers.get(header) ?? '')) return `another ${header}`;
  if (check === null) return body === '' ? null : 'a body';
  if (headers.get('content-type') === 'text/csv; charset=utf-8')
    return shape.csv === true && body.endsWith('\n') ? null : 'CSV';
  return check(parse(headers, body)) ? null : 'another shape';
}

/** Checks that the answer names the job in both places, and says when to poll. */
function problemOfAccepted(headers: Headers, body: string): string | null {
  const { data } = parse(headers, body) as { data?: { jobID?: string } };
  if (headers.get('location') !== `/jobs/${data?.jobID}`) return 'another Location';
  if (headers.get('retry-after') !== '1') return 'no Retry-After';
  if (headers.has('etag')) return 'an ETag although the result is not known yet';
  return headers.get('cache-control') === 'no-store' ? null : 'another Cache-Control';
}

function problemOfJob(headers: Headers, body: string): string | null {
  const { data } = parse(headers, body) as { data: { status?: string; phase?: string } };
  const goesOn = data.status === 'running' || data.phase === 'waiting';
  if ((headers.get('retry-after') === '1') !== goesOn) return 'another Retry-After';
  return headers.get('cache-control') === 'no-store' ? null : 'another Cache-Control';
}

function parse(headers: Headers, body: string): unknown {
  if (!/^application\/json(; charset=utf-8)?$/.test(headers.get('content-type') ?? '')) return undefined;
  return JSON.parse(body);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
