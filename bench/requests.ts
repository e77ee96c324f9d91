/** The requests of the benchmarks, as raw bytes, made without a library. */
import type { Answer, Connection } from './connection.ts';
import { customerSchema, type Row } from './data.ts';

/**
 * A server to measure. If it has several processes, it has several ports, and connections are distributed over them.
 */
export interface Target {
  ports: readonly number[];
  token: string;
  /** The address of this machine that loads connect from; absent: the system chooses one. */
  from?: string;
}

/** A request line and headers; more headers may follow. */
export function head({ token }: Target, method: string, path: string): string {
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
}

/** A whole request with a JSON body. */
export function withBody(requestHead: string, body: Buffer): Buffer {
  const bodyHead = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(requestHead + bodyHead), body]);
}

/** The body of an answer. Throws if its status differs. */
export function expectStatus(status: number, answer: Answer): Buffer {
  if (answer.status === status) return answer.body;
  throw new Error(`expected ${status}, got ${answer.status}: ${answer.body.toString('utf8', 0, 500)}`);
}

/** Creates a table with these rows; resolves to its path and their IDs. */
export async function createTable(
  connection: Connection,
  target: Target,
  rows: readonly Row[] = [],
): Promise<{ path: string; rowIDs: string[] }> {
  const body = Buffer.from(JSON.stringify({ name: 'customers', schema: customerSchema, rows }));
  const answer = await connection.send(withBody(head(target, 'POST', '/tables'), body));
  const { tableID, rowIDs } = JSON.parse(expectStatus(201, answer).toString()).data;
  return { path: `/tables/${tableID}`, rowIDs };
}

/**
 * Sends requests to a service; each resolves to the `data` of the answer, and rejects if the answer is not a success.
 */
export function caller({ ports, token }: Target) {
  return async <Data = { tableID: string }>(
    method: string,
    path: string,
    body?: string,
    type = 'text/csv',
  ): Promise<Data> => {
    const response = await fetch(`http://127.0.0.1:${ports[0]}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return (JSON.parse(text) as { data: Data }).data;
  };
}
