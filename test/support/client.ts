/**
 * A test client of the interface. Rejects if an answer does not have exactly the shape of the specification and of the
 * service's own OpenAPI document, or if the service accepts a request that the document forbids.
 */
import { documentOf } from './interface-document.ts';
import { checkShape } from './shapes.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined if it is empty, or CSV. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look at whatever came
  readonly json: any;
  /** The version in the ETag; null without one. */
  readonly version: bigint | null;
}

/** The result of a request, in the form that tables of cases use: `201`, or `422 column_id_not_found`. */
export function outcomeOf({ status, json }: Answer): string {
  return status >= 400 && json !== undefined ? `${status} ${json.error.type}` : String(status);
}

export interface Send {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or bytes are sent as they are; anything else as JSON. */
  readonly body?: unknown;
  /** Whether to omit the default `Content-Type`. */
  readonly bare?: boolean;
}

/** The media type of the body, and the body itself if it is text. */
function describeBody(headers: Headers, body: unknown): { mediaType: string; body: string | null } {
  const mediaType = (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
  const isText = !headers.has('content-encoding') && (typeof body === 'string' || body instanceof Uint8Array);
  // A byte order mark is not part of the text.
  return { mediaType, body: isText ? new TextDecoder().decode(Buffer.from(body)) : null };
}

export class Client {
  readonly url: string;
  readonly token: string;
  readonly #urls: readonly string[];
  #sent = 0;

  /** Several URLs belong to processes of one service. Requests go to them in turn. */
  constructor(urls: string | readonly string[], token: string) {
    this.#urls = [urls].flat();
    this.url = this.#urls[0]!;
    this.token = token;
  }

  async send(path: string, { method = 'GET', headers = {}, body, bare = false }: Send = {}): Promise<Answer> {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const sent = raw ? body : JSON.stringify(body);
    const url = this.#urls[this.#sent % this.#urls.length]!;
    this.#sent += 1;
    // Fetched before the request, because the answer is checked against the document.
    const document = await documentOf(url);
    const asked = new Headers({
      authorization: `Bearer ${this.token}`,
      ...(body === undefined || bare ? {} : { 'content-type': 'application/json' }),
      ...headers,
    });
    const response = await fetch(`${url}${path}`, {
      method,
      headers: asked,
      ...(sent === undefined ? {} : { body: sent as string }),
    });
    const text = await response.text();
    const exchange = { method, path, status: response.status, headers: response.headers, text };
    checkShape(exchange);
    document.check(exchange);
    if (response.ok) document.checkAccepted({ method, path, ...describeBody(asked, sent) });
    const etag = response.headers.get('etag');
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === '' || response.headers.get('content-type')?.startsWith('text/csv') ? undefined : JSON.parse(text),
      version: etag === null ? null : BigInt(etag.replaceAll('"', '')),
    };
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { headers });
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { method: 'POST', body, headers });
  }

  put(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { method: 'PUT', body, headers });
  }

  patch(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { method: 'PATCH', body, headers });
  }

  delete(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { method: 'DELETE', headers });
  }

  head(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { method: 'HEAD', headers });
  }

  /** All rows of a table, page by page. */
  async rows(tableId: string, limit = 10_000): Promise<Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    let query = `limit=${limit}`;
    for (;;) {
      const answer = await this.get(`/tables/${tableId}/rows?${query}`);
      if (answer.status !== 200) throw new Error(answer.text);
      rows.push(...answer.json.data);
      if (answer.json.continuation === undefined) return rows;
      query = `limit=${limit}&continuation=${answer.json.continuation}`;
    }
  }
}
