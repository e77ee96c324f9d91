/**
 * Generates the OpenAPI document of the service from its routes, the schemas that validate their requests, and the
 * description of each route (`Operation`).
 */
import type { RouteOptions } from 'fastify';
import { z } from 'zod';
import { answerTypesOf } from '../answers/answer-type.ts';
import { errorTypes, type ErrorType } from '../answers/error-types.ts';
import { DocumentSchemas, type JsonSchema } from './document-schemas.ts';
import { tablePath } from '../requests/table-path.ts';
import { tags, type Answer, type Contents, type Link, type Operation } from './operation.ts';
import { requestHeaders, responseHeaders, type DescribedHeader, type ResponseHeader } from './headers.ts';

/** General information about the service. */
interface DocumentInfo {
  readonly version: string;
  /** The address of the service. A path is relative to the address of the document. */
  readonly serverUrl: string;
}

export interface Reference {
  readonly $ref: string;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, MediaTypeObject>>;
  readonly links?: Readonly<Record<string, Link>>;
}

interface MediaTypeObject {
  readonly schema: JsonSchema;
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  /** Exactly one of `schema` and `content`: `content` if the text of the parameter is JSON. */
  readonly schema?: JsonSchema;
  readonly content?: Readonly<Record<string, MediaTypeObject>>;
  readonly example?: unknown;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security?: readonly object[];
  readonly parameters: readonly ParameterObject[];
  readonly requestBody?: { readonly required: true; readonly content: Readonly<Record<string, MediaTypeObject>> };
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly tags: readonly object[];
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly headers: Readonly<Record<string, object>>;
    readonly securitySchemes: object;
  };
}

/** Errors for paths that are not in the document, and for methods that a path does not have. */
const sharedErrors = ['not_found', 'method_not_allowed', 'request_validation_error'] as const;

const description = `Tables of rows for teams, on an append-only log. A request needs a bearer token of its team.
A token may be limited to reading. It may also be limited to one app: then it reaches only the tables of that app. The
paths under \`/admin\` are for operators, who have tokens of their own.

Every version is the position of an event in the team's log, so versions of rows and of tables can be compared.

All errors have one shape, \`{"error":{"type","message"}}\`. Programs decide by \`type\`. After an answer of 503
it is worth trying again, and an \`Idempotency-Key\` makes that safe for writes.`;

/** Throws for a route without an operation. */
export function buildDocument(routes: readonly RouteOptions[], { version, serverUrl }: DocumentInfo): OpenApiDocument {
  const parts = new DocumentParts();
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}');
    for (const method of [route.method].flat()) {
      (paths[path] ??= {})[method.toLowerCase()] = describeRoute(route, method, parts);
    }
  }
  for (const type of sharedErrors) parts.errorResponse([type]);
  return {
    openapi: '3.1.0',
    info: { title: 'Tablog', version, description },
    servers: [{ url: serverUrl }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: parts.schemas.components,
      responses: parts.responses,
      headers: parts.headers,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A token of the team.' },
        operator: { type: 'http', scheme: 'bearer', description: 'A token of an operator.' },
      },
    },
  };
}

function describeRoute(route: RouteOptions, method: string, parts: DocumentParts): OperationObject {
  const { operation, public: isPublic = false, forOperators = false } = route.config ?? {};
  if (operation === undefined) throw new Error(`${method} ${route.url} has no operation in its config`);
  const { operationId, tag, summary, description, body, answers } = operation;
  // HEAD beside GET is the same operation without a body.
  const isTwin = method === 'HEAD' && [route.method].flat().includes('GET');
  const withBodies = method !== 'HEAD';
  return {
    operationId: isTwin ? `${operationId}Head` : operationId,
    tags: [tag],
    summary,
    description,
    ...(isPublic ? { security: [] } : forOperators ? { security: [{ operator: [] }] } : {}),
    parameters: describeParameters(route, method, operation, parts),
    ...(body === undefined ? {} : { requestBody: { required: true, content: parts.contents(body, 'input') } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          parts.answer(answer, withBodies, !isPublic && !forOperators),
        ]),
      ),
      ...(isVersionRead(method, operation) ? { 304: parts.answer(notModified, withBodies, !isPublic) } : {}),
      ...Object.fromEntries(
        byStatus(errorTypesOf(operation, method, route.url, isPublic)).map(([status, types]) => {
          return [status, parts.errorResponse(types, withBodies)];
        }),
      ),
    },
  };
}

const notModified: Answer = { description: 'The client has the current version.', versioned: true };

function describeParameters(
  { url, schema }: RouteOptions,
  method: string,
  operation: Operation,
  parts: DocumentParts,
): ParameterObject[] {
  const described = {
    ...tablePath,
    ...(schema?.params as z.ZodObject | undefined)?.shape,
    ...operation.path,
  } as Readonly<Record<string, z.ZodType>>;
  const path = [...url.matchAll(/:(\w+)/g)].map(([, name]): ParameterObject => {
    const schema = described[name!];
    if (schema === undefined) throw new Error(`${operation.operationId} does not describe the path parameter ${name}`);
    return parameterOf(name!, 'path', true, parts.schemas.convert(schema, 'input'));
  });
  const { properties = {}, required = [] } = parts.schemas.convert(schema?.querystring as z.ZodType, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  const query = Object.entries(properties).map(([name, property]) => {
    return parameterOf(name, 'query', required.includes(name), property);
  });
  const headers = requestHeadersOf(operation, method).map(({ schema, ...header }): ParameterObject => {
    return { ...header, in: 'header', required: false, schema: parts.schemas.convert(schema, 'input') };
  });
  return [...path, ...query, ...headers];
}

/**
 * Moves the description and an example from the schema to the parameter, where every tool shows them. A text that holds
 * JSON becomes its `content`.
 */
function parameterOf(
  name: string,
  place: ParameterObject['in'],
  required: boolean,
  { description, examples = [], contentMediaType, contentSchema, ...schema }: JsonSchema,
): ParameterObject {
  const described = { name, in: place, required, ...(description === undefined ? {} : { description }) };
  if (contentMediaType !== undefined) {
    const named = examples.map((value, at) => [String(at + 1), { value }]);
    return {
      ...described,
      content: { [contentMediaType]: { schema: contentSchema as JsonSchema, examples: Object.fromEntries(named) } },
    };
  }
  const [example] = examples;
  return { ...described, schema, ...(example === undefined ? {} : { example }) };
}

function requestHeadersOf(operation: Operation, method: string) {
  const { ifMatch, asynchronous, body } = operation;
  return [
    ...(ifMatch === 'row' ? [requestHeaders.ifMatchRow] : []),
    ...(ifMatch === 'table' ? [requestHeaders.ifMatchTable] : []),
    ...(knowsIfNoneMatch(method, operation) ? [requestHeaders.ifNoneMatch] : []),
    ...(method === 'GET' && operation.answers[206] !== undefined ? [requestHeaders.range, requestHeaders.ifRange] : []),
    ...(isCommand(method, operation) ? [requestHeaders.idempotencyKey] : []),
    ...(asynchronous === true ? [requestHeaders.asynchronous] : []),
    ...(body === undefined || operation.isBodyKept === true ? [] : [requestHeaders.contentEncoding]),
  ];
}

/** All errors of an operation: its own, and the errors that its properties imply. */
function errorTypesOf(operation: Operation, method: string, url: string, isPublic: boolean): ErrorType[] {
  const { ifMatch, body, errors = [] } = operation;
  return [
    ...new Set<ErrorType>([
      'request_validation_error',
      'method_not_allowed',
      'internal_error',
      'rate_limited',
      ...(answerTypesOf(operation).length === 0 ? [] : (['not_acceptable'] as const)),
      // src/api/http/access/ decides what a token may do, and which tables it reaches.
      ...(isPublic
        ? []
        : ([
            'request_error',
            'service_unavailable',
            'forbidden',
            ...(url.includes('/:tableID') ? (['table_not_found'] as const) : []),
          ] as const)),
      // Every command adds to the log, and the team may have used up its bytes of the day.
      ...(isCommand(method, operation)
        ? (['idempotency_key_reused', 'outcome_unknown', 'payment_required', 'limit_exceeded'] as const)
        : []),
      ...(body === undefined && !isCommand(method, operation)
        ? []
        : (['payload_too_large', 'request_timeout'] as const)),
      ...(body === undefined || !isCommand(method, operation) ? [] : (['limit_exceeded'] as const)),
      ...(ifMatch === undefined ? [] : (['precondition_failed'] as const)),
      ...errors,
    ]),
  ];
}

function isCommand(method: string, { isCommand = isWrite(method) }: Operation): boolean {
  return isCommand;
}

function isWrite(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** Whether the answers include 304 with the version: for a read whose 200 has a version. */
function isVersionRead(method: string, { answers }: Operation): boolean {
  return !isWrite(method) && answers[200]?.versioned === true;
}

function knowsIfNoneMatch(method: string, operation: Operation): boolean {
  return isVersionRead(method, operation) || operation.answers[304] !== undefined;
}

function byStatus(types: readonly ErrorType[]): [status: number, types: readonly ErrorType[]][] {
  const statuses = [...new Set(types.map((type) => errorTypes[type].status))].sort((a, b) => a - b);
  return statuses.map((status) => [status, types.filter((type) => errorTypes[type].status === status)]);
}

/** The parts of the document that are emitted once and referenced. */
class DocumentParts {
  readonly schemas = new DocumentSchemas();
  readonly responses: Record<string, ResponseObject> = {};
  readonly headers: Record<string, object> = {};

  contents(contents: Contents, io: 'input' | 'output'): Record<string, MediaTypeObject> {
    return Object.fromEntries(
      Object.entries(contents).map(([mediaType, { schema, examples }]) => {
        const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
        return [mediaType, { schema: this.schemas.convert(schema, io), examples: Object.fromEntries(named) }];
      }),
    );
  }

  answer(
    { description, versioned = false, headers = [], headersAtTimes = [], body, links = [] }: Answer,
    withBody: boolean,
    limited: boolean,
  ): ResponseObject {
    return {
      description,
      headers: {
        ...this.#refer([
          ...(versioned ? (['ETag', 'Cache-Control', 'Vary'] as const) : []),
          ...headers,
          ...(limited ? rateLimitHeaders : []),
        ]),
        ...this.#refer(headersAtTimes, false),
      },
      ...(withBody && body !== undefined ? { content: this.contents(body, 'output') } : {}),
      ...(links.length === 0 ? {} : { links: Object.fromEntries(links.map((link) => [link.operationId, link])) }),
    };
  }

  /** The response for errors with the same status. */
  errorResponse(types: readonly ErrorType[], withBody = true): Reference {
    const name = [errorTypes[types[0]!].status, ...types, ...(withBody ? [] : ['head'])].join('.');
    this.responses[name] ??= {
      description: types.map((type) => `\`${type}\`: ${errorTypes[type].meaning}`).join('\n\n'),
      headers: this.#refer(errorHeaders(types)),
      ...(withBody ? { content: this.#errorContent(types) } : {}),
    };
    return { $ref: `#/components/responses/${name}` };
  }

  #errorContent(types: readonly ErrorType[]): Record<string, MediaTypeObject> {
    const schema = z.strictObject({ error: z.strictObject({ type: z.enum(types), message: z.string().min(1) }) });
    const examples = types.map((type) => [type, { error: { type, message: errorTypes[type].example } }]);
    return this.contents({ 'application/json': { schema, examples: Object.fromEntries(examples) } }, 'output');
  }

  #refer(names: readonly ResponseHeader[], always = true): Record<string, Reference> {
    return Object.fromEntries(
      names.map((name) => {
        const { schema, required, header = name, ...described }: DescribedHeader = responseHeaders[name];
        const component = always ? name : `${name}.at-times`;
        this.headers[component] ??= {
          ...described,
          required: required && always,
          schema: this.schemas.convert(schema, 'output'),
        };
        return [header, { $ref: `#/components/headers/${component}` }];
      }),
    );
  }
}

/** For answers to authenticated requests, if the service has limits. */
const rateLimitHeaders = ['RateLimit-Policy', 'RateLimit'] as const;

function errorHeaders(types: readonly ErrorType[]): ResponseHeader[] {
  const { status, isWorthARetry = false } = errorTypes[types[0]!];
  return [
    'Request-ID',
    ...rateLimitHeaders,
    ...(status === 405 ? (['Allow'] as const) : []),
    ...(isWorthARetry ? (['Retry-After'] as const) : []),
    ...(status === 416 ? (['Content-Range'] as const) : []),
    ...(types.includes('outcome_unknown') ? (['Job-ID', 'Tablog-Turned-Away'] as const) : []),
  ];
}
