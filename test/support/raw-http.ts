/** HTTP byte by byte, for requests that no client library sends. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { documentOf } from './interface-document.ts';
import { checkShape } from './shapes.ts';
import type { Answer } from './client.ts';

interface RawSend {
  /** Whether the client closes its side after the bytes. Otherwise it waits until the service closes the connection. */
  readonly end?: boolean;
  /** The method and path, for checking the shape of the answer. */
  readonly method?: string;
  readonly path?: string;
}

/** Sends bytes on a new connection; resolves to the last answer before the connection closes. */
export async function exchangeRaw(
  url: string,
  bytes: string | Uint8Array,
  { end = false, method = 'GET', path = '/tables' }: RawSend = {},
): Promise<Answer> {
  const document = await documentOf(url);
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The service may reset a connection without reading the rest. Its answer has arrived by then.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  if (end) socket.end();
  socket.once('end', () => socket.end());
  // `once` of node:events would reject with such an error.
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  const answer = parseAnswer(Buffer.concat(chunks).toString('utf8'));
  const exchange = { method, path, status: answer.status, headers: answer.headers, text: answer.text };
  checkShape(exchange);
  document.check(exchange);
  return answer;
}

function parseAnswer(raw: string): Answer {
  const [, statusText, head, text] = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n([\s\S]*?\r\n)\r\n([\s\S]*)$/.exec(raw) ?? [];
  if (statusText === undefined) throw new Error(`this is not an answer: ${JSON.stringify(raw)}`);
  const headers = new Headers();
  for (const line of head!.trim().split('\r\n')) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return {
    status: Number(statusText),
    headers,
    text: text!,
    json: text === '' ? undefined : JSON.parse(text!),
    version: null,
  };
}
