/** Connection handling below requests: malformed HTTP, idle clients, `Expect`, and draining. */
import {
  createServer as createHttpServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { errorBody } from '../answers/error-reply.ts';
import { errorTypes } from '../answers/error-types.ts';
import { HttpError } from '../answers/http-error.ts';
import { BodyPaces, timeoutOf, type SendingFloor } from '../bodies/body-pace.ts';
import { deferContinue, failBody, hasBody } from '../bodies/request-body.ts';
import { charge, limitConnections, type ConnectionBounds } from './address-connections.ts';
import { inTurn } from './pipelined-requests.ts';
import { dropRestOfBody } from './rest-of-body.ts';
import { cutOffSlowReaders, type ReadingFloor } from './slow-readers.ts';

/** How long a connection stays open after its last answer, so that the client receives the answer. */
const lingerMs = 1_000;
const idleCheckMs = 50;
/** A client that takes longer to send its headers is disconnected, so that slow clients cannot hold connections. */
const headerTimeoutMs = 15_000;
/** Longer than the 60 s of most proxies, so that the proxy closes first. */
const keepAliveTimeoutMs = 72_000;

/** A socket of Node's HTTP server. `_httpMessage` is its current response, which Node's own handlers use too. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

interface ConnectionLimits {
  /** How long a client may neither send nor read anything within a request. */
  readonly idleMs: number;
  readonly connections: ConnectionBounds;
  /** How fast a client must read its answers. */
  readonly readingFloor: ReadingFloor;
  /** How fast a client must send its bodies. */
  readonly sendingFloor: SendingFloor;
  /** Bytes of a request's first line and headers. */
  readonly headerBytesMax: number;
}

/** A server for `handler`. It answers in the format of the interface even if a request never reaches the handler. */
export function createServer(handler: RequestListener, limits: ConnectionLimits): Server {
  const paces = new BodyPaces(limits.sendingFloor, failBody);
  function handle(request: IncomingMessage, response: ServerResponse): void {
    const lacksHost = request.headers.host === undefined && request.httpVersion === '1.1';
    handleInTurn(request, response, lacksHost ? 'Host: is missing.' : null);
  }
  /** `refusal`: why the request is answered before the handler sees it; null: the handler answers it. */
  function handleInTurn(request: IncomingMessage, response: ServerResponse, refusal: string | null): void {
    inTurn(
      request.socket,
      response,
      () => {
        // Watch the body only from its turn on: until then nothing is read from the connection, which is not the
        // client's fault.
        if (hasBody(request)) {
          paces.watch(request);
          dropRestOfBody(request, response);
        }
        if (refusal === null) handler(request, response);
        else refuseRequest(response, refusal);
      },
      charge,
    );
  }
  const server = createHttpServer(
    {
      headersTimeout: headerTimeoutMs,
      connectionsCheckingInterval: headerTimeoutMs / 3,
      keepAliveTimeout: keepAliveTimeoutMs,
      // An import may take long. The idle timeout ends stalled clients.
      requestTimeout: 0,
      maxHeaderSize: limits.headerBytesMax,
      // Node's own answer to a request without Host has no body. `handle` sends ours.
      requireHostHeader: false,
    },
    handle,
  );
  limitConnections(server, limits.connections);
  server.setTimeout(limits.idleMs);
  server.on('timeout', onIdle);
  cutOffSlowReaders(server, limits.readingFloor);
  server.once('close', () => paces.close());
  server.on('clientError', onClientError);
  server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    refuse(socket, invalid('CONNECT is not supported.')),
  );
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    deferContinue(request, response);
    handle(request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    handleInTurn(request, response, 'Expect: only 100-continue is supported.');
  });
  return server;
}

function refuseRequest(response: ServerResponse, message: string): void {
  const body = errorBody('request_validation_error', message);
  response
    .writeHead(400, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'connection': 'close',
    })
    .end(body);
}

/** Connections whose client broke the protocol. Node's parser reports every later packet of such a connection again. */
const givenUp = new WeakSet<Socket>();

/** Answers invalid HTTP. `error` comes from Node's parser, or reports that the headers took too long. */
function onClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) {
    socket.destroy();
    return;
  }
  if (givenUp.has(socket)) return;
  givenUp.add(socket);
  giveUp(socket, describeClientError(error.code));
}

function describeClientError(code: string | undefined): HttpError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return invalid('The headers of the request are too large.');
    case 'HPE_INVALID_EOF_STATE':
      return invalid('The request is incomplete.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return timeoutOf('The request did not arrive in time.');
    default:
      return invalid('The request is not valid HTTP.');
  }
}

function invalid(message: string): HttpError {
  return new HttpError('request_validation_error', message);
}

/** Handles an idle connection. Only the client's idleness counts: the service may take as long as it needs. */
function onIdle(socket: HttpSocket): void {
  const response = socket._httpMessage;
  if (response) {
    const weAreReading = response.req.complete || response.req.readableLength > 0;
    if (weAreReading && socket.writableLength === 0) return;
    if (!response.headersSent) {
      giveUp(socket, timeoutOf('The body of the request did not arrive in time.'));
      return;
    }
  }
  socket.destroy();
}

/**
 * Closes a connection whose client broke the protocol. Requests in progress on it keep their own answers, since they
 * may have taken effect. If the body of such a request is broken, its reader gets the error, and the connection closes
 * after its answer. If the bytes after the requests are broken, the error follows their answers.
 */
function giveUp(socket: HttpSocket, error: HttpError): void {
  const response = socket._httpMessage;
  if (!response) {
    refuse(socket, error);
    return;
  }
  if (response.req.complete) {
    response.once('finish', () => giveUp(socket, error));
    return;
  }
  response.shouldKeepAlive = false;
  response.once('finish', () => endSoon(socket));
  failBody(response.req, error);
}

/** Answers with an error on a socket without a request. */
function refuse(socket: Socket, { type, message }: HttpError): void {
  if (!socket.writable) return;
  const body = errorBody(type, message);
  const { status } = errorTypes[type];
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  endSoon(socket);
}

/** Half-closes the connection, and destroys it if the client does not close it. */
function endSoon(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Lets requests in flight finish for up to `timeoutMs`, then cuts their connections. Call it when the servers begin to
 * close. The returned function stops the timers.
 */
export function drainConnections(servers: readonly Server[], timeoutMs: number): () => void {
  // A connection becomes idle after its last answer. `server.close` does not detect that.
  const check = setInterval(() => servers.forEach((server) => server.closeIdleConnections()), idleCheckMs);
  const deadline = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), timeoutMs);
  return () => {
    clearInterval(check);
    clearTimeout(deadline);
  };
}
