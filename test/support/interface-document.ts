/**
 * The OpenAPI document of a service, used to check its answers: they must not contain anything that the document does
 * not describe.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type {
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from '../../src/api/http/openapi/document.ts';
import type { Exchange } from './shapes.ts';

/** Headers on which clients act. If an answer has one of these, or one of Tablog, its description must name it. */
const meaningful = new Set([
  'etag',
  'allow',
  'retry-after',
  'job-id',
  'link',
  'location',
  'ratelimit-policy',
  'ratelimit',
]);

interface AcceptedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Without parameters, in lower case. */
  readonly mediaType: string;
  /** Null if there is none, or if it is not checked. */
  readonly body: string | null;
}

export class InterfaceDocument {
  readonly document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(document: OpenApiDocument) {
    this.document = document;
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'openapi.json');
  }

  /** Throws if an answer does not match the document. */
  check(exchange: Exchange): void {
    const problem = this.#problemOf(exchange);
    if (problem === null) return;
    const { method, path, status, headers, text } = exchange;
    const shown = `${status} ${JSON.stringify(Object.fromEntries(headers))} ${text.slice(0, 1000)}`;
    throw new Error(`${method} ${path}: the OpenAPI document does not have ${problem}, in the answer ${shown}`);
  }

  /** Throws if the service accepts a request that does not match the document. */
  checkAccepted({ method, path, mediaType, body }: AcceptedRequest): void {
    const problem = this.#problemOfRequest({ method, path, mediaType, body });
    if (problem !== null)
      throw new Error(`${method} ${path}: accepted, but the OpenAPI document does not have ${problem}`);
  }

  /** How a value violates the schema at this place of the document; null if it fits. */
  misfitAt(place: readonly string[], value: unknown): string | null {
    const pointer = place.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate = this.#ajv.getSchema(`openapi.json#/${pointer}`) as ValidateFunction;
    return validate(value) ? null : this.#ajv.errorsText(validate.errors, { dataVar: 'the body' });
  }

  /** The path template of the document that matches a request's path. */
  pathOf(path: string): string | undefined {
    const segments = path.split('?', 1)[0]!.split('/');
    return Object.keys(this.document.paths).find((template) => {
      const parts = template.split('/');
      return (
        parts.length === segments.length && parts.every((part, at) => part === segments[at] || part.startsWith('{'))
      );
    });
  }

  operationOf({ method, path }: Pick<Exchange, 'method' | 'path'>): OperationObject | undefined {
    const template = this.pathOf(path);
    return template === undefined ? undefined : this.document.paths[template]![method.toLowerCase()];
  }

  #problemOf(exchange: Exchange): string | null {
    const place = this.#placeOfAnswer(exchange);
    if (place === null) return `the status ${exchange.status} there`;
    const response = this.#at(place) as ResponseObject;
    return this.#problemOfHeaders(response, exchange.headers) ?? this.#problemOfBody(place, response, exchange);
  }

  /** The place in the document that describes the answer: at its operation, or in the responses common to all. */
  #placeOfAnswer({ method, path, status }: Exchange): string[] | null {
    const template = this.pathOf(path);
    const operation = this.operationOf({ method, path });
    if (template !== undefined && operation !== undefined) {
      const response = operation.responses[status];
      if (response === undefined) return null;
      return isReference(response)
        ? placeOf(response)
        : ['paths', template, method.toLowerCase(), 'responses', String(status)];
    }
    const shared = {
      [template === undefined ? 404 : 405]: template === undefined ? '404.not_found' : '405.method_not_allowed',
      400: '400.request_validation_error',
    }[status];
    return shared === undefined ? null : ['components', 'responses', shared];
  }

  #problemOfHeaders({ headers: described = {} }: ResponseObject, headers: Headers): string | null {
    const undescribed = [...headers.keys()].find((name) => {
      return (
        (meaningful.has(name) || name.startsWith('tablog-')) &&
        !Object.keys(described).some((known) => known.toLowerCase() === name)
      );
    });
    if (undescribed !== undefined) return `the header ${undescribed}`;
    for (const [name, reference] of Object.entries(described)) {
      const place = placeOf(reference);
      const header = this.#at(place) as Required<Pick<ParameterObject, 'required' | 'schema'>>;
      const value = headers.get(name);
      if (value === null && header.required) return `an answer without the header ${name}`;
      if (value === null) continue;
      const misfit = this.misfitAt([...place, 'schema'], header.schema.type === 'integer' ? Number(value) : value);
      if (misfit !== null) return `such a header ${name} (${misfit})`;
    }
    return null;
  }

  #problemOfBody(
    place: readonly string[],
    { content }: ResponseObject,
    { method, headers, text }: Exchange,
  ): string | null {
    if (content === undefined || method === 'HEAD') return text === '' ? null : 'a body';
    const mediaType = (headers.get('content-type') ?? 'none').split(';', 1)[0]!;
    const described = mediaTypeIn(content, mediaType);
    if (described === null) return `the media type ${mediaType}`;
    const value: unknown = described === 'application/json' ? JSON.parse(text) : text;
    const misfit = this.misfitAt([...place, 'content', described, 'schema'], value);
    return misfit === null ? null : `such a body (${misfit})`;
  }

  #problemOfRequest({ method, path, mediaType, body }: AcceptedRequest): string | null {
    const template = this.pathOf(path)!;
    const { parameters, requestBody } = this.operationOf({ method, path })!;
    const known = new Set(parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name));
    const unknown = [...new URLSearchParams(path.split('?')[1]).keys()].find((name) => !known.has(name));
    if (unknown !== undefined) return `the query parameter ${unknown}`;
    if (body === null || requestBody === undefined) return null;
    if (!Object.hasOwn(requestBody.content, mediaType)) return `the media type ${mediaType} of the request`;
    const value: unknown = mediaType === 'application/json' ? JSON.parse(body) : body;
    const place = ['paths', template, method.toLowerCase(), 'requestBody', 'content', mediaType, 'schema'];
    const misfit = this.misfitAt(place, value);
    return misfit === null ? null : `such a body of a request (${misfit})`;
  }

  #at(place: readonly string[]): unknown {
    return place.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], this.document);
  }
}

/** The entry for a body of this media type: its own, or the wildcard; null if there is neither. */
function mediaTypeIn(content: object, mediaType: string): string | null {
  return [mediaType, '*/*'].find((type) => Object.hasOwn(content, type)) ?? null;
}

function isReference(value: object): value is Reference {
  return '$ref' in value;
}

/** `['components', 'headers', 'ETag']` of `#/components/headers/ETag` */
function placeOf({ $ref }: Reference): string[] {
  return $ref.slice('#/'.length).split('/');
}

const documents = new Map<string, Promise<InterfaceDocument>>();

/** The document of the service at a URL, fetched once. Rejects when the service cannot be reached. */
export function documentOf(url: string): Promise<InterfaceDocument> {
  const known = documents.get(url);
  if (known !== undefined) return known;
  const fetched = fetchDocument(url);
  documents.set(url, fetched);
  // A failed fetch is not cached.
  fetched.catch(() => documents.delete(url));
  return fetched;
}

/** Sends a request that `Client` cannot send. Rejects if the answer does not match the document. */
export async function fetchChecked(url: string, path: string, init: RequestInit = {}): Promise<Exchange> {
  const document = await documentOf(url);
  const response = await fetch(`${url}${path}`, init);
  const { status, headers } = response;
  const exchange = { method: init.method ?? 'GET', path, status, headers, text: await response.text() };
  document.check(exchange);
  return exchange;
}

async function fetchDocument(url: string): Promise<InterfaceDocument> {
  const response = await fetch(`${url}/openapi.json`);
  if (!response.ok) throw new Error(`${url}/openapi.json: ${response.status} ${await response.text()}`);
  return new InterfaceDocument((await response.json()) as OpenApiDocument);
}
