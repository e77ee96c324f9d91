/**
 * Builds what every server of the service has: limits on connections and on requests that need no token, and a shutdown
 * that lets requests finish.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify, { type FastifyBaseLogger, type FastifyReply, type onRequestHookHandler } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { trustIn, type TrustedProxies } from './trusted-proxies.ts';
import type { TeamActivity } from '../../usage/team-activity.ts';
import { buildErrorHandler, replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import type { SendingFloor } from '../bodies/body-pace.ts';
import type { AddressLimit } from '../limits/address-limit.ts';
import type { App } from './app-type.ts';
import { createServer, drainConnections } from './connections.ts';
import { RequestLog } from './request-log.ts';
import type { RequestObserver } from './request-observer.ts';
import type { ReadingFloor } from './slow-readers.ts';

/** The settings of these limits. */
export interface BoundedAppSettings {
  readonly LOG_REQUESTS: boolean;
  readonly TRUSTED_PROXIES?: TrustedProxies | undefined;
  readonly CONNECTIONS_MAX: number;
  readonly CONNECTIONS_PER_ADDRESS_MAX?: number | undefined;
  readonly RATE_LIMIT_CONNECTIONS: number;
  readonly RATE_LIMIT_WINDOW_MS: number;
  readonly REQUEST_IDLE_TIMEOUT_MS: number;
  readonly DRAIN_TIMEOUT_MS: number;
  readonly BODY_RATE_MIN: number;
  readonly BODY_RATE_WINDOW_MS: number;
  readonly BODY_TIME_MAX_MS: number;
}

export interface BoundedAppOptions {
  readonly config: BoundedAppSettings;
  readonly log: FastifyBaseLogger;
  /** How fast a client must read its answers. */
  readonly readingFloor?: ReadingFloor | undefined;
  readonly observer: RequestObserver;
  /** Counts the requests of each team; null: they are not counted. */
  readonly activity: Pick<TeamActivity, 'requestEnded'> | null;
  /** Limits requests to paths that need no token, by the address of the client; null: there is no limit. */
  readonly publicLimit: AddressLimit | null;
}

interface BoundedApp {
  /** The server without routes. Its `close` lets requests in flight finish within DRAIN_TIMEOUT_MS. */
  readonly app: App;
  readonly isDraining: () => boolean;
}

/** Maximum of bytes of the request line and the headers: enough for a path of IDs, a query and a token. */
const headerBytesMax = 16 * 1024;
/** Slower than any network that people use. */
const defaultReadingFloor: ReadingFloor = { bytesPerSecond: 1024, windowMs: 60_000 };

/** Builds a server without routes. Its first hook counts requests that need no token. */
export function buildBoundedApp({
  config,
  log,
  readingFloor = defaultReadingFloor,
  observer,
  activity,
  publicLimit,
}: BoundedAppOptions): BoundedApp {
  const sendingFloor: SendingFloor = {
    bytesPerSecond: config.BODY_RATE_MIN,
    windowMs: config.BODY_RATE_WINDOW_MS,
    totalMs: config.BODY_TIME_MAX_MS,
  };
  const connectionsOfAddressMax = config.CONNECTIONS_PER_ADDRESS_MAX ?? Math.ceil(config.CONNECTIONS_MAX / 2);
  const isTrusted = trustIn(config.TRUSTED_PROXIES);
  const connections = {
    max: config.CONNECTIONS_MAX,
    eachMax: connectionsOfAddressMax,
    newMax: config.RATE_LIMIT_CONNECTIONS,
    windowMs: config.RATE_LIMIT_WINDOW_MS,
    isProxy: (address: string | undefined) => isTrusted(address, 0),
    observer,
  };
  const limits = { idleMs: config.REQUEST_IDLE_TIMEOUT_MS, connections, readingFloor, sendingFloor, headerBytesMax };
  const servers: Server[] = [];
  const app = fastify({
    loggerInstance: log,
    logController: new RequestLog(config.LOG_REQUESTS, observer, activity),
    genReqId: buildRequestIds(),
    // Makes `request.ip` the address of the client. Fastify does not trust a number of proxies alone.
    ...(config.TRUSTED_PROXIES !== undefined && { trustProxy: isTrusted }),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // A host name with two addresses creates two servers.
    serverFactory: (handler) => {
      const server = createServer(handler, limits);
      servers.push(server);
      return server;
    },
    // The router accepts IDs of any length. The code that looks them up validates them.
    routerOptions: { maxParamLength: headerBytesMax },
    clientErrorHandler: () => {
      // The server has its own handler, shared by the servers of both addresses.
    },
    frameworkErrors: (_error, request, reply) => {
      const error = new HttpError('request_validation_error', 'path: the percent-encoding is invalid.');
      const answer = ({ type, message, headers }: HttpError): void =>
        void replyWithError(reply as FastifyReply, type, message, headers);
      const refusal = publicLimit?.count(request) ?? null;
      if (refusal === null) answer(error);
      else void refusal.then(answer);
    },
  }).withTypeProvider<ZodTypeProvider>() as App;

  leaveBodiesUnread(app);
  // A child logger per request costs more than routing; log lines name the request themselves.
  app.setChildLoggerFactory((logger) => logger);
  app.setErrorHandler(buildErrorHandler(log));
  if (publicLimit !== null) app.addHook('onRequest', limitPublic(publicLimit));
  return { app, isDraining: drainOnClose(app, servers, config.DRAIN_TIMEOUT_MS) };
}

/**
 * Counts requests that need no token, including those to paths that do not exist. Other requests count for their team,
 * or as refused tokens.
 */
function limitPublic(limit: AddressLimit): onRequestHookHandler {
  return function onRequest(request, _reply, done) {
    const needsToken =
      !request.is404 && request.routeOptions.url !== '*' && request.routeOptions.config.public !== true;
    const refusal = needsToken ? null : limit.count(request);
    if (refusal === null) done();
    else refusal.then(done, done);
  };
}

/**
 * How long a shutdown waits for requests in transit, if the servers listen: several pauses, in milliseconds. After each
 * pause everything that has arrived is read, even on a busy machine.
 */
const lastRequests = { pauses: 5, pauseMs: 20 };

/** Makes `app.close()` wait for requests in flight. Returns whether draining has begun. */
function drainOnClose(app: App, servers: readonly Server[], timeoutMs: number): () => boolean {
  let draining = false;
  let stopWatch: (() => void) | null = null;
  app.addHook('onSend', (_request, reply, payload, done) => {
    // Tells clients to send no further request on a connection that is about to close.
    if (draining) void reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('preClose', async () => {
    draining = true;
    const pauses = servers.some(({ listening }) => listening) ? lastRequests.pauses : 0;
    for (let pause = 0; pause < pauses; pause += 1) await sleep(lastRequests.pauseMs);
    stopWatch = drainConnections(servers, timeoutMs);
  });
  app.addHook('onClose', (_app, done) => {
    stopWatch?.();
    done();
  });
  return () => draining;
}

/** Makes Fastify treat every method as one without a body, because routes read bodies as streams. */
function leaveBodiesUnread(app: App): void {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
}

/** Makes IDs that are unique across requests and processes, at the cost of a counter. */
function buildRequestIds(): () => string {
  const process = randomBytes(6).toString('base64url');
  let last = 0;
  return () => {
    last += 1;
    return `${process}-${last.toString(36)}`;
  };
}
