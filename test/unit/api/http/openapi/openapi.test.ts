/** The OpenAPI document: it is complete, it is true to the routes, and it is OpenAPI 3.1. */
import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from '@jest/globals';
import type { RouteOptions } from 'fastify';
import generateTypes, { astToString, COMMENT_HEADER, type OpenAPI3 } from 'openapi-typescript';
import { errorTypes } from '../../../../../src/api/http/answers/error-types.ts';
import {
  buildDocument,
  type OpenApiDocument,
  type OperationObject,
} from '../../../../../src/api/http/openapi/document.ts';
import type { Operation } from '../../../../../src/api/http/openapi/operation.ts';
import { metricsRoute } from '../../../../../src/api/http/service/metrics.ts';
import { InterfaceDocument } from '../../../../support/interface-document.ts';
import type { Exchange } from '../../../../support/shapes.ts';
import { addAllRoutes } from '../all-routes.ts';
import { buildEdge } from '../server/edge-app.ts';

/** All routes of the service, and the document that it serves. No route is asked for anything else. */
async function describeService(): Promise<{ routes: RouteOptions[]; document: OpenApiDocument }> {
  const routes: RouteOptions[] = [];
  const { app } = buildEdge((app) => {
    app.addHook('onRoute', (route) => {
      routes.push(route);
    });
    app.route(metricsRoute({ contentType: 'text/plain', scrape: async () => '' }));
    addAllRoutes(app);
  });
  const answer = await app.inject('/openapi.json');
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  return { routes, document: answer.json() };
}

const { routes, document } = await describeService();
const interfaceDocument = new InterfaceDocument(document);

interface Described {
  readonly name: string;
  readonly method: string;
  readonly route: RouteOptions;
  readonly operation: OperationObject | undefined;
}

const described: Described[] = routes.flatMap((route) =>
  [route.method].flat().map((method) => {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}');
    return { name: `${method} ${path}`, method, route, operation: document.paths[path]?.[method.toLowerCase()] };
  }),
);

const operations = Object.entries(document.paths).flatMap(([path, item]) => {
  return Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    method,
    operation,
  }));
});

/** `404 table_not_found` for each error that the operation has. */
function errorsOf(operation: OperationObject): string[] {
  return Object.values(operation.responses).flatMap((response) => {
    if (!('$ref' in response)) return [];
    const [status, ...types] = response.$ref.slice('#/components/responses/'.length).split('.');
    return types.map((type) => `${status} ${type}`);
  });
}

/** Whether a success has a body, and not one of any type. */
function answersWithText(operation: OperationObject): boolean {
  const contents = Object.values(operation.responses).flatMap((response) =>
    '$ref' in response ? [] : Object.keys(response.content ?? {}),
  );
  return contents.length > 0 && !contents.includes('*/*');
}

describe('it is complete', () => {
  test('each route is in the document, and nothing else', () => {
    expect(described.length).toBeGreaterThan(15);
    expect(operations.map(({ name }) => name).toSorted()).toEqual(described.map(({ name }) => name).toSorted());
  });

  test.each(described)('$name has the answers that all operations have', ({ method, route, operation }) => {
    const { public: isPublic = false, forOperators = false } = route.config ?? {};
    const isRead = method === 'GET' || method === 'HEAD' || route.url.endsWith('/query');
    // Bytes of files are no event, and what operators change is no event of a client.
    const isCommand = !isRead && !forOperators && route.url !== '/uploads/:uploadID';
    const errors = errorsOf(operation!);
    expect(errors).toEqual(
      expect.arrayContaining([
        '400 request_validation_error',
        '405 method_not_allowed',
        '500 internal_error',
        ...(answersWithText(operation!) ? ['406 not_acceptable'] : []),
        ...(isPublic ? [] : ['404 request_error', '429 rate_limited', '503 service_unavailable']),
        ...(operation!.requestBody === undefined ? [] : ['413 payload_too_large']),
        ...(isCommand && operation!.requestBody !== undefined ? ['400 limit_exceeded'] : []),
        ...(isCommand ? ['400 idempotency_key_reused', '503 outcome_unknown'] : []),
        ...(isPublic || !route.url.includes(':tableID') ? [] : ['404 table_not_found']),
      ]),
    );
    // Tokens of teams and of operators are for different routes.
    expect(errors.includes('403 forbidden')).toBe(!isPublic || route.url === '/uploads/:uploadID');
    expect(operation!.security).toEqual(isPublic ? [] : forOperators ? [{ operator: [] }] : undefined);
    expect(Object.keys(operation!.responses).some((status) => status < '400')).toBe(true);
  });

  test.each(described)('$name has a body if its method has one', ({ name, method, operation }) => {
    const hasNone = /^POST .*\/(complete|suspend|resume|release)$/.test(name);
    expect(operation!.requestBody !== undefined).toBe(['POST', 'PUT', 'PATCH'].includes(method) && !hasNone);
  });

  test.each(described)('$name has the parameters of its path and of its query', ({ route, operation }) => {
    const namesIn = (place: string): string[] => {
      return operation!.parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);
    };
    expect(namesIn('path')).toEqual([...route.url.matchAll(/:(\w+)/g)].map(([, name]) => name));
    expect(namesIn('query')).toEqual(Object.keys((route.schema!.querystring as { shape: object }).shape));
  });

  test('a route without a description is an error', () => {
    const route = { method: 'GET', url: '/x', handler: () => '', schema: {} } as const;
    expect(() => buildDocument([route], { version: '1', serverUrl: '/' })).toThrow(
      'GET /x has no operation in its config',
    );
  });

  test('a path parameter without a description is an error', () => {
    const operation: Operation = { operationId: 'getX', tag: 'Rows', summary: '', description: '', answers: {} };
    const route = { method: 'GET', url: '/x/:xID', handler: () => '', schema: {}, config: { operation } } as const;
    expect(() => buildDocument([route as unknown as RouteOptions], { version: '1', serverUrl: '/' })).toThrow(
      'getX does not describe the path parameter xID',
    );
  });

  test('some operation answers with each type of error', () => {
    const types = operations.flatMap(({ operation }) => errorsOf(operation).map((error) => error.split(' ')[1]!));
    // The answers to HEAD end in `head`.
    expect([...new Set(types)].filter((type) => type !== 'head').toSorted()).toEqual(
      Object.keys(errorTypes).toSorted(),
    );
  });
});

describe('it is OpenAPI 3.1', () => {
  const validate = async (tried: object) => new Validator().validate(structuredClone(tried) as Record<string, unknown>);

  test('the document is valid by the schema of the standard', async () => {
    expect(await validate(document)).toEqual({ valid: true });
  });

  const get = document.paths['/tables']!['get']!;
  test.each<[Record<string, unknown>]>([
    [{ responses: { 200: {} } }],
    [{ parameters: [{ name: 'a', in: 'path', schema: {} }] }],
    [{ parameters: [{ name: 'a', in: 'query' }] }],
    [{ security: 'none' }],
  ])('with %j it would not be', async (changes) => {
    const { valid } = await validate({ ...document, paths: { '/tables': { get: { ...get, ...changes } } } });
    expect(valid).toBe(false);
  });

  test('every reference leads somewhere', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path!);
    expect(references.length).toBeGreaterThan(100);
    const lost = references.filter((path) => {
      return (
        path
          .split('/')
          .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document) ===
        undefined
      );
    });
    expect(lost).toEqual([]);
  });

  test('operation IDs are unique names', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
  });

  test('the server and the version', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
      servers: [{ url: '/' }],
    });
  });
});

/** Each body in the document: where it stands, and its examples by name. */
function* bodies(): Generator<{
  name: string;
  place: string[];
  examples: Readonly<Record<string, { value: unknown }>>;
}> {
  for (const { name, path, method, operation } of operations) {
    const at = ['paths', path, method];
    if (operation.requestBody) yield* contentsAt(name, [...at, 'requestBody'], operation.requestBody);
    for (const [status, response] of Object.entries(operation.responses)) {
      if (!('$ref' in response)) yield* contentsAt(`${name} ${status}`, [...at, 'responses', status], response);
    }
  }
  for (const [name, response] of Object.entries(document.components.responses)) {
    yield* contentsAt(name, ['components', 'responses', name], response);
  }
}

function* contentsAt(
  name: string,
  place: string[],
  { content = {} }: Pick<OpenApiDocument['components']['responses'][string], 'content'>,
) {
  for (const [mediaType, { examples }] of Object.entries(content)) {
    yield { name: `${name} ${mediaType}`, place: [...place, 'content', mediaType, 'schema'], examples };
  }
}

describe('its examples', () => {
  test.each([...bodies()])('the body of $name accepts its examples', ({ place, examples }) => {
    expect(Object.keys(examples).length).toBeGreaterThan(0);
    for (const { value } of Object.values(examples)) expect(interfaceDocument.misfitAt(place, value)).toBeNull();
  });
});

describe('its links', () => {
  const linked = operations.flatMap(({ name, path, operation }) =>
    Object.entries(operation.responses).flatMap(([status, response]) => {
      return '$ref' in response
        ? []
        : Object.values(response.links ?? {}).map((link) => ({
            name: `${name} ${status}: ${link.operationId}`,
            path,
            response,
            link,
          }));
    }),
  );
  const operationOf = (operationId: string) =>
    operations.find(({ operation }) => operation.operationId === operationId)!;

  test.each(linked)('$name links to a parameter of the path', ({ path, response, link }) => {
    const target = operationOf(link.operationId);
    const examplesOf = Object.values(response.content?.['application/json']?.examples ?? {}).map(({ value }) => value);
    for (const [name, expression] of Object.entries(link.parameters ?? {})) {
      expect(target.path).toContain(`{${name}}`);
      const [, place, rest] = /^\$(request\.path\.|response\.body#\/)(.*)$/.exec(expression)!;
      if (place === 'request.path.') expect(path).toContain(`{${rest}}`);
      else
        expect(
          examplesOf.some(
            (value) =>
              rest!
                .split('/')
                .reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], value) !==
              undefined,
          ),
        ).toBe(true);
    }
  });

  // Where the bytes of a file go is a signed URL, and an app or a serial is no ID that the service gives.
  test.each([
    ['POST /tables 201', 'tableID', []],
    ['POST /tables 201', 'rowID', []],
    ['POST /tables/{tableID}/rows 201', 'rowID', []],
    ['PUT /tables/{tableID} 200', 'rowID', []],
    ['POST /apps/{appID}/uploads 200', 'uploadID', ['putUploadBytes']],
    ['PUT /stashes/{stashID}/{serial} 200', 'stashID', []],
    ...['POST /tables 202', 'POST /tables/{tableID}/rows 202', 'PUT /tables/{tableID} 202'].map(
      (from): [string, string, string[]] => [from, 'jobID', []],
    ),
    ['POST /admin/teams 201', 'teamID', []],
    ['POST /admin/teams/{teamID}/tokens 201', 'tokenID', []],
    ['POST /admin/tokens 201', 'tokenID', []],
  ])('%s links to all operations that take its %s', (from, parameter, except) => {
    const reached = linked
      .filter(({ name, link }) => name.startsWith(`${from}:`) && link.parameters?.[parameter] !== undefined)
      .map(({ link }) => link.operationId);
    const takers = operations
      .filter(({ path }) => path.includes(`{${parameter}}`))
      .map(({ operation }) => operation.operationId);
    const isOfRow = (id: string): boolean => operationOf(id).path.includes('{rowID}');
    // The operations of a row need the ID of their table too.
    const wanted = takers.filter(
      (id) => !except.includes(id) && (parameter !== 'tableID' || reached.includes(id) || !isOfRow(id)),
    );
    expect(reached.toSorted()).toEqual(wanted.toSorted());
  });

  test('a stash links to a table of its rows', () => {
    expect(
      linked.find(({ name }) => name === 'PUT /stashes/{stashID}/{serial} 200: createTable')?.link.requestBody,
    ).toEqual({
      name: 'the rows of a stash',
      rows: { $stashID: '{$request.path.stashID}' },
    });
  });
});

describe('its parameters', () => {
  const parameters = operations.flatMap(({ name, path, method, operation }) =>
    operation.parameters.map((parameter, at) => {
      return { name: `${name} ${parameter.name}`, parameter, place: ['paths', path, method, 'parameters', String(at)] };
    }),
  );
  const found = (name: string) => parameters.find((described) => described.name === name)!;

  test.each([
    ['DELETE /tables/{tableID} If-Match', ['"42"', 'W/"42"'], ['42', '*', '"a"', '"1", "2"']],
    [
      'GET /tables/{tableID} If-None-Match',
      ['*', '"42"', 'W/"42"', '"1", W/"2"', '"1" ,"2",'],
      ['42', '', '"1" "2"', ',"1"'],
    ],
    [
      'GET /files/{fileID}/{fileName} If-Range',
      ['"mV0aZ3lqT1uHq5o2bR8x6w"', 'W/"a"', 'Wed, 21 Oct 2026 07:28:00 GMT'],
      ['a', '*', '"1", "2"', '2026-10-21'],
    ],
    ['POST /tables Content-Encoding', ['identity', 'gzip', 'br', 'zstd'], ['deflate', 'gzip, br']],
  ])('%s accepts %j, and not %j', (name, good, bad) => {
    const { place } = found(name);
    expect(
      [...good, ...bad].filter((value) => interfaceDocument.misfitAt([...place, 'schema'], value) === null),
    ).toEqual(good);
  });

  test.each([
    [
      'filter',
      { and: [{ column: 'a', op: 'eq', value: 1 }, { not: { column: 'b', op: 'isEmpty' } }] },
      { column: 'a', op: 'eq' },
    ],
    ['filter', { column: 'a', op: 'contains', value: 'b' }, { column: 'a', op: 'contains', value: 1 }],
    ['sort', ['-a', '--'], ['-']],
    ['sort', ['a'], ['a\0']],
    ['fields', ['a', '$version'], ['a', 'a']],
    ['fields', ['a'], ['a\0']],
  ])('%s is JSON', (name, good, bad) => {
    for (const path of ['/tables/{tableID}/rows', '/tables/{tableID}/export']) {
      const { place, parameter } = found(`GET ${path} ${name}`);
      const schema = [...place, 'content', 'application/json', 'schema'];
      expect([good, bad].map((value) => interfaceDocument.misfitAt(schema, value) === null)).toEqual([true, false]);
      for (const { value } of Object.values(parameter.content!['application/json']!.examples))
        expect(interfaceDocument.misfitAt(schema, value)).toBeNull();
    }
  });

  const queried = ['paths', '/tables/{tableID}/query', 'post', 'requestBody', 'content', 'application/json', 'schema'];

  test.each([
    ...['contains', 'startsWith', 'endsWith'].flatMap((op) => [
      ...[1, true, ['a'], {}, null, 'a\0'].map((value): [object, false] => [
        { filter: { column: 'a', op, value } },
        false,
      ]),
      [{ filter: { column: 'a', op, value: '' } }, true] as const,
      [{ filter: { not: { column: 'a', op, value: 'a', ignoreCase: true } } }, true] as const,
    ]),
    ...[4.2, true, ['a'], {}, '', 'a\n'].map((value): [object, true] => [
      { filter: { column: 'a', op: 'eq', value } },
      true,
    ]),
    [{ filter: { column: 'a', op: 'eq', value: null } }, false],
    [{ filter: { column: 'a', op: 'eq', value: '\0' } }, false],
    [{ filter: { column: 'a\0', op: 'isEmpty' } }, false],
    [{ filter: { column: 'a\nb', op: 'isEmpty' } }, true],
    [{ filter: { column: 'a', op: 'in', value: ['a', '\0'] } }, false],
    [{ filter: { column: '\0', op: 'in', value: [] } }, false],
    [{ filter: { and: [{ column: 'a\0', op: 'contains', value: 'a' }] } }, false],
    [{ filter: { column: 'a', op: 'isEmpty', value: 1 } }, false],
    [{ filter: { column: 'a', op: 'eq', value: 1, ignoreCase: true } }, false],
    [{ fields: ['a\0'] }, false],
    [{ fields: ['a', '$version'] }, true],
    [{ groupBy: ['a\0'] }, false],
    [{ groupBy: ['a\nb'] }, true],
    [{ sort: ['a\0'] }, false],
    [{ sort: ['-\0'] }, false],
    [{ sort: ['-\n', '\n', '--'] }, true],
    [{ sort: [''] }, false],
    [{ aggregate: [{ op: 'sum', column: 'a\0' }] }, false],
    [{ aggregate: [{ op: 'count', as: '\0' }] }, false],
    [{ aggregate: [{ op: 'count', column: 'a', as: 'b' }] }, true],
  ] as readonly (readonly [object, boolean])[])('the document describes a query with %j: %s', (query, isDescribed) => {
    expect(interfaceDocument.misfitAt(queried, query) === null).toBe(isDescribed);
  });

  test('the name of a file has no path', () => {
    const fits = [
      'a',
      'photo.png',
      '\u00a0',
      '...',
      '.',
      '..',
      'a/b',
      'a\\b',
      'a\u0000',
      'a\u001f',
      'a\u007f',
      'a\u009f',
      '',
    ].filter((name) => {
      return (
        interfaceDocument.misfitAt(['components', 'schemas', 'NewUpload'], {
          contentType: 'image/png',
          fileName: name,
        }) === null
      );
    });
    expect(fits).toEqual(['a', 'photo.png', '\u00a0', '...']);
  });

  test('each regular expression has only forms that generators know', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
      ([, text]) => JSON.parse(text!) as string,
    );
    expect(patterns.length).toBeGreaterThan(20);
    expect(patterns.filter((pattern) => /\\p\{|\(\?[=!<]/.test(pattern))).toEqual([]);
  });
});

describe('the test finds an answer that the document does not describe', () => {
  const table = { id: '0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e', name: 'people' };
  const error = { type: 'table_not_found', message: 'x' };
  const path = `/tables/${table.id}/rows`;
  const versioned = { 'etag': '"7"', 'cache-control': 'private, no-cache', 'vary': 'Accept-Encoding, Authorization' };

  function check({
    method = 'GET',
    path,
    status = 200,
    headers = {},
    body,
  }: {
    method?: string;
    path: string;
    status?: number;
    headers?: Record<string, string>;
    body?: unknown;
  }): string | null {
    const all = new Headers({
      ...(body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }),
      ...headers,
    });
    const exchange: Exchange = {
      method,
      path,
      status,
      headers: all,
      text: body === undefined ? '' : JSON.stringify(body),
    };
    try {
      interfaceDocument.check(exchange);
      return null;
    } catch (error) {
      return (error as Error).message.replace(/^.* the OpenAPI document does not have (.*), in the answer .*$/, '$1');
    }
  }

  test.each([
    [{ path: '/tables', body: { data: [table] } }],
    [{ path: '/tables?x', status: 400, body: { error: { ...error, type: 'request_validation_error' } } }],
    [{ path, status: 404, body: { error } }],
    [{ path, method: 'HEAD', status: 404 }],
    [{ path, method: 'HEAD', headers: versioned }],
    [{ path, headers: versioned, body: { data: [{ $rowID: 'AAAAAAAAAAEAAAAAAAAAAA', a: 1, b: [null] }] } }],
    [{ path, status: 304, headers: versioned }],
    [{ path: '/nothing', status: 404, body: { error: { ...error, type: 'not_found' } } }],
    [
      {
        path: '/tables',
        method: 'PUT',
        status: 405,
        headers: { allow: 'GET' },
        body: { error: { ...error, type: 'method_not_allowed' } },
      },
    ],
  ])('the answer %j is described', (answer) => {
    expect(check(answer)).toBeNull();
  });

  test.each([
    [
      { path: '/tables', body: { data: [{ ...table, rows: 1 }] } },
      'such a body (the body/data/0 must NOT have additional properties)',
    ],
    [
      { path: '/tables', body: { data: [{ id: table.id }] } },
      "such a body (the body/data/0 must have required property 'name')",
    ],
    [{ path: '/tables', body: {} }, "such a body (the body must have required property 'data')"],
    [{ path: '/tables', status: 201, body: { data: [] } }, 'the status 201 there'],
    [{ path: '/tables', body: { data: [] }, headers: { etag: '"1"' } }, 'the header etag'],
    [{ path: '/tables', body: 'x', headers: { 'content-type': 'text/plain' } }, 'the media type text/plain'],
    [
      { path: '/tables', status: 404, body: { error } },
      'such a body (the body/error/type must be equal to one of the allowed values)',
    ],
    [
      { path, status: 404, body: { error: { ...error, code: 1 } } },
      'such a body (the body/error must NOT have additional properties)',
    ],
    [{ path, body: { data: [] } }, 'an answer without the header ETag'],
    [
      { path, body: { data: [] }, headers: { ...versioned, etag: 'W/"7"' } },
      'such a header ETag (the body must match pattern "^"[0-9]+"$")',
    ],
    [
      { path, body: { data: [{ $rowID: 'AAAAAAAAAAEAAAAAAAAAAA', a: null }] }, headers: versioned },
      expect.stringContaining('such a body'),
    ],
    [{ path, method: 'HEAD', headers: versioned, body: {} }, 'a body'],
    [{ path: '/nothing', body: {} }, 'the status 200 there'],
    [
      { path: '/nothing', status: 404, body: { error } },
      'such a body (the body/error/type must be equal to one of the allowed values)',
    ],
    [
      { path: '/tables', method: 'PUT', status: 405, body: { error: { ...error, type: 'method_not_allowed' } } },
      'an answer without the header Allow',
    ],
    [{ path: '/tables', method: 'PUT', body: {} }, 'the status 200 there'],
  ])('the answer %j is not described', (answer, problem) => {
    expect(check(answer)).toEqual(problem);
  });

  test('an accepted request is described', () => {
    const accepted = { method: 'POST', path: '/tables?name=n', mediaType: 'application/json', body: '[]' };
    expect(() => interfaceDocument.checkAccepted(accepted)).not.toThrow();
    expect(() => interfaceDocument.checkAccepted({ ...accepted, path: '/tables?nom=n' })).toThrow(
      'the query parameter nom',
    );
    expect(() => interfaceDocument.checkAccepted({ ...accepted, mediaType: 'text/x' })).toThrow(
      'the media type text/x',
    );
    expect(() => interfaceDocument.checkAccepted({ ...accepted, body: '{"rows":[],"x":1}' })).toThrow('such a body');
  });
});

test('the types of the client match the document (if not, start the service and run `npm run client:types`)', async () => {
  const generated = astToString(await generateTypes(document as unknown as OpenAPI3));
  expect(await readFile(new URL('../../../../../clients/typescript/src/interface.ts', import.meta.url), 'utf8')).toBe(
    `${COMMENT_HEADER}${generated}`,
  );
});
