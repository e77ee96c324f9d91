/** How requests are sent: well framed, in pieces, several at once, cut short, or as broken HTTP. */
import type { Random } from '../support/random.ts';
import { corrupt } from './hostile.ts';
import type { FuzzRequest } from './requests.ts';

export interface Delivery {
  readonly requests: readonly FuzzRequest[];
  /** What is written, one piece after the other. */
  readonly pieces: readonly Buffer[];
  /** The pause between two pieces, in milliseconds. */
  readonly pauseMs: number;
  /** What the client does then: it waits for the answers, closes its side first, or cuts the connection. */
  readonly ending: 'wait' | 'end' | 'cut';
  /** Whether each request is framed as HTTP asks for, so that each must be answered while the connection is open. */
  readonly isFramed: boolean;
}

/** Several requests only if `make` is asked for more of them. */
export function deliver(first: FuzzRequest, make: () => FuzzRequest, random: Random): Delivery {
  const alone = whole(first);
  return random.weighted<() => Delivery>([
    [800, () => alone],
    [70, () => ({ ...alone, pieces: [chunked(first, random)] })],
    [
      40,
      () => {
        // After one that is no valid HTTP the service may close the connection, with other answers outstanding.
        const requests = [first, ...Array.from({ length: 1 + random.below(5) }, make)].filter(isValid);
        if (requests.length === 0) return alone;
        return { ...alone, requests, pieces: [Buffer.concat(requests.map(framed))] };
      },
    ],
    [30, () => ({ ...alone, pieces: inPieces(framed(first), random), pauseMs: random.below(20) })],
    [20, () => ({ ...alone, pieces: [someOf(framed(first), random)], ending: 'end', isFramed: false })],
    // The client sends no more, and the service gives it up.
    [1, () => ({ ...alone, pieces: [someOf(framed(first), random)], isFramed: false })],
    [
      15,
      () => ({
        ...alone,
        pieces: [random.chance(0.5) ? framed(first) : someOf(framed(first), random)],
        ending: 'cut',
        isFramed: false,
      }),
    ],
    [25, () => ({ ...alone, pieces: [broken(first, random)], ending: 'end', isFramed: false })],
  ])();
}

/** The request alone, in one piece. */
export function whole(request: FuzzRequest): Delivery {
  return { requests: [request], pieces: [framed(request)], pauseMs: 0, ending: 'wait', isFramed: true };
}

/** The request with the length of its body. */
function framed(request: FuzzRequest): Buffer {
  const { body, method } = request;
  const length =
    body !== null || method === 'POST' || method === 'PUT' || method === 'PATCH'
      ? [['content-length', String(body?.length ?? 0)] as const]
      : [];
  return Buffer.concat([head(request, length), body ?? Buffer.alloc(0)]);
}

function head({ method, target, headers }: FuzzRequest, framing: readonly (readonly [string, string])[]): Buffer {
  const lines = [['host', '127.0.0.1'], ...headers, ...framing].map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

const headBytesMax = 16_000;

/** Whether request line and headers are valid HTTP, and of a size that the service takes. */
function isValid(request: FuzzRequest): boolean {
  const bytes = head(request, []);
  return bytes.length < headBytesMax && /^[\r\n\t\x20-\x7e\x80-\xff]*$/.test(bytes.toString('latin1'));
}

function chunked(request: FuzzRequest, random: Random): Buffer {
  if (request.body === null) return framed(request);
  const chunks: Buffer[] = [];
  for (let at = 0; at < request.body.length;) {
    const chunk = request.body.subarray(at, at + 1 + random.below(request.body.length));
    const extension = random.chance(0.05) ? ';x="y"' : '';
    chunks.push(Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, Buffer.from('\r\n'));
    at += chunk.length;
  }
  const trailer = random.chance(0.1) ? 'x-trailer: y\r\n' : '';
  return Buffer.concat([
    head(request, [['transfer-encoding', 'chunked']]),
    ...chunks,
    Buffer.from(`0\r\n${trailer}\r\n`),
  ]);
}

function inPieces(bytes: Buffer, random: Random): Buffer[] {
  const count = 2 + random.below(6);
  const cuts = Array.from({ length: count - 1 }, () => random.below(bytes.length)).toSorted((a, b) => a - b);
  return [...cuts, bytes.length]
    .map((cut, at) => bytes.subarray(cuts[at - 1] ?? 0, cut))
    .filter((piece) => piece.length > 0);
}

/** At least one byte, and not all. */
function someOf(bytes: Buffer, random: Random): Buffer {
  return bytes.subarray(0, 1 + random.below(bytes.length - 1));
}

/** What HTTP forbids, or leaves open to be read in two ways. */
function broken(request: FuzzRequest, random: Random): Buffer {
  const body = request.body ?? Buffer.from('[]');
  const length = String(body.length);
  const withFraming = (...framing: (readonly [string, string])[]): Buffer =>
    Buffer.concat([head(request, framing), body]);
  return random.pick([
    () => corrupt(framed(request), random),
    () => withFraming(['content-length', length], ['transfer-encoding', 'chunked']),
    () => withFraming(['content-length', length], ['content-length', '0']),
    () =>
      withFraming([
        'content-length',
        random.pick(['-1', 'x', '1e3', '0x10', '99999999999999999999', '+5', `${length}, ${length}`, '']),
      ]),
    () =>
      withFraming([
        'transfer-encoding',
        random.pick(['chunked, chunked', 'gzip, chunked', 'identity', 'xchunked', 'chunked\t']),
      ]),
    () =>
      Buffer.concat([
        head(request, [['transfer-encoding', 'chunked']]),
        Buffer.from(
          random.pick([
            'zz\r\n[]\r\n0\r\n\r\n',
            '-1\r\n',
            'ffffffffffffffff1\r\n[]',
            '2\r\n[]x\r\n0\r\n\r\n',
            '\r\n',
            '2;\r\n[]\n0\n\n',
          ]),
        ),
      ]),
    () =>
      Buffer.from(
        framed(request)
          .toString('latin1')
          .replace('HTTP/1.1', random.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'HTTP/9.9', ''])),
        'latin1',
      ),
    () =>
      Buffer.from(
        framed(request)
          .toString('latin1')
          .replace(
            /host: [^\r]*\r\n/,
            random.pick(['', 'host: a\r\nhost: b\r\n', 'host: \r\n', 'host : x\r\n', 'host: a b/@\r\n']),
          ),
        'latin1',
      ),
    () => Buffer.from(framed(request).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    () =>
      Buffer.from(
        `${random.pick(['CONNECT', 'PRI', 'get', 'G\0T', 'FOO', ''])} ${request.target} HTTP/1.1\r\nhost: x\r\n\r\n`,
        'latin1',
      ),
    () =>
      Buffer.from(
        random.pick([
          'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
          '\x16\x03\x01\x02\0',
          '\r\n\r\n\r\n',
          '\0'.repeat(100),
          'GET',
          'GET / HTTP/1.1\r\n folded: x\r\n\r\n',
          'A'.repeat(20_000),
        ]),
        'latin1',
      ),
    () =>
      Buffer.from(
        `GET /tables HTTP/1.1\r\nhost: x\r\n${Array.from({ length: 3000 }, (_, at) => `a${at}: b\r\n`).join('')}\r\n`,
        'latin1',
      ),
  ])();
}
