/** The HTTP server without a port: routes, hooks and errors. The caller calls `listen`. */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify, {
  type FastifyBaseLogger, type FastifyReply, type FastifyRequest, type HookHandlerDoneFunction,
  type onRequestHookHandler, type RouteOptions,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { App } from './app-type.ts';
import { buildAccessCheck, type IsLinked } from '../access/access.ts';
import { buildHeadCheck, type ReachHead } from '../access/at-head.ts';
import { buildQuarantineCheck, type QuarantinedSince } from '../access/quarantine.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { buildAuthenticator, type Authenticate, type OnRefusedToken } from '../access/authenticate.ts';
import { buildAnswerTypeCheck } from '../answers/answer-type.ts';
import { compressReply } from '../answers/compression.ts';
import { createServer, drainConnections } from './connections.ts';
import { buildErrorHandler, replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import { buildDocument } from '../openapi/document.ts';
import type { AddressLimit } from '../limits/address-limit.ts';
import type { FairShares } from '../limits/fair-shares.ts';
import { allowOrigins } from './cors.ts';
import { RequestLog } from './request-log.ts';
import type { RequestObserver } from './request-observer.ts';
import type { ReadingFloor } from './slow-readers.ts';
import type { SendingFloor } from '../bodies/body-pace.ts';
import { addConsoleRoutes } from '../routes/console.ts';
import { addDocumentationRoutes } from '../routes/documentation.ts';
import { addHealthRoutes, stopping, type CheckHealth } from '../routes/health.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import type { TeamActivity } from '../../usage/team-activity.ts';
import { trustIn, type TrustedProxies } from '../../trusted-proxies.ts';
import type { FilesOrigin } from '../requests/files-origin.ts';
import { compileValidator } from '../requests/validation.ts';

/** The settings of what clients reach. */
export interface HttpSettings {
  readonly LOG_REQUESTS: boolean;
  readonly PUBLIC_URL?: string | undefined;
  readonly CORS_ORIGINS?: '*' | readonly string[] | undefined;
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

export interface AppDependencies {
  readonly config: HttpSettings;
  readonly log: FastifyBaseLogger;
  /** How fast a client must read its answers. */
  readonly readingFloor?: ReadingFloor;
  readonly authenticate: Authenticate;
  readonly onRefusedToken: OnRefusedToken;
  readonly quarantinedSince: QuarantinedSince;
  /** Absent: no other read model is ever in use. */
  readonly reachHead?: ReachHead;
  /** Limits refused tokens by the address of the client; absent: there is no limit. */
  readonly addressLimit?: AddressLimit | null;
  /** Limits preflights of browsers by that address; absent: there is no limit. */
  readonly preflightLimit?: AddressLimit | null;
  /** Limits requests to paths that need no token, by that address; absent: there is no limit. */
  readonly publicLimit?: AddressLimit | null;
  /** The bytes of static files that clients have not read yet; absent: nobody counts them. */
  readonly outgoingBytes?: FairShares | null;
  readonly isLinked: IsLinked;
  /** Absent, or null: files have no origin of their own. */
  readonly filesOrigin?: FilesOrigin | null;
  readonly checkHealth: CheckHealth;
  readonly observer: RequestObserver;
  /** Counts the requests of each team; absent: nobody does. */
  readonly activity?: Pick<TeamActivity, 'requestEnded'> | null;
  /** Traces requests; absent: nobody does. */
  readonly tracing?: Pick<Tracing, 'traceRequest'> | null;
  /** Adds the routes of the interface. */
  readonly routes: (app: App) => void;
}

/** Limit of request line and headers in bytes: room for a path of IDs, a query, and a token. */
const headerBytesMax = 16 * 1024;
/** Slower than any network that people use. */
const defaultReadingFloor: ReadingFloor = { bytesPerSecond: 1024, windowMs: 60_000 };

/** Where `console/build.ts` puts it. */
const consoleFolder = join(import.meta.dirname, '../../../console/dist');

const noQuery = z.strictObject({});

const { version } = createRequire(import.meta.url)('../../../package.json') as { readonly version: string };

/** Builds the server. `app.close()` drains it: requests in flight finish within DRAIN_TIMEOUT_MS. */
export function buildApp({
  config, log, readingFloor = defaultReadingFloor, authenticate, onRefusedToken, addressLimit = null, preflightLimit = null, publicLimit = null, outgoingBytes = null, quarantinedSince, reachHead = () => null, isLinked, filesOrigin = null, checkHealth,
  observer, activity = null, tracing = null, routes,
}: AppDependencies): App {
  const allowedMethods = new AllowedMethods();
  const sendingFloor: SendingFloor = { bytesPerSecond: config.BODY_RATE_MIN, windowMs: config.BODY_RATE_WINDOW_MS, totalMs: config.BODY_TIME_MAX_MS };
  const connectionsOfAddressMax = config.CONNECTIONS_PER_ADDRESS_MAX ?? Math.ceil(config.CONNECTIONS_MAX / 2);
  const isTrusted = trustIn(config.TRUSTED_PROXIES);
  const connections = {
    max: config.CONNECTIONS_MAX, eachMax: connectionsOfAddressMax, newMax: config.RATE_LIMIT_CONNECTIONS, windowMs: config.RATE_LIMIT_WINDOW_MS,
    isProxy: (address: string | undefined) => isTrusted(address, 0), observer,
  };
  const limits = { idleMs: config.REQUEST_IDLE_TIMEOUT_MS, connections, readingFloor, sendingFloor, headerBytesMax };
  const servers: Server[] = [];
  const app = fastify({
    loggerInstance: log,
    logController: new RequestLog(config.LOG_REQUESTS, observer, activity),
    genReqId: buildRequestIds(),
    // `request.ip` is the address of the client; a number alone is not trusted by Fastify.
    ...(config.TRUSTED_PROXIES !== undefined && { trustProxy: isTrusted }),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // A host name with two addresses creates two servers.
    serverFactory: (handler) => {
      const server = createServer(handler, limits);
      servers.push(server);
      return server;
    },
    // The router accepts IDs of any length: they are validated where they are looked up.
    routerOptions: { maxParamLength: headerBytesMax },
    clientErrorHandler: () => {
      // The server has its own handler, shared by the servers of both addresses.
    },
    frameworkErrors: (_error, request, reply) => {
      const error = new HttpError('request_validation_error', 'path: it is not validly percent-encoded.');
      const answer = ({ type, message, headers }: HttpError): void => void replyWithError(reply as FastifyReply, type, message, headers);
      const refusal = publicLimit?.count(request) ?? null;
      if (refusal === null) answer(error);
      else void refusal.then(answer);
    },
  }).withTypeProvider<ZodTypeProvider>() as App;

  leaveBodiesUnread(app);
  // A child logger per request costs more than routing; log lines name the request themselves.
  app.setChildLoggerFactory((logger) => logger);
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler(buildErrorHandler(log));
  app.setNotFoundHandler((request, reply) => replyNotRouted(request, reply, allowedMethods));
  if (publicLimit !== null) app.addHook('onRequest', limitPublic(publicLimit));
  if (tracing !== null) app.addHook('onRequest', (request, reply, done) => tracing.traceRequest(request, reply, done));
  if (filesOrigin !== null) app.addHook('onRequest', buildFilesOnly(filesOrigin));
  app.addHook('preValidation', refuseBrokenQuery);
  app.addHook('onSend', compressReply);
  const isDraining = drainOnClose(app, servers, config.DRAIN_TIMEOUT_MS);
  const authenticator = buildAuthenticator(authenticate, onRefusedToken, addressLimit);
  const headCheck = buildHeadCheck(reachHead);
  const admission = {
    ofOperators: [authenticator, headCheck], ofTeams: [authenticator, buildQuarantineCheck(quarantinedSince), headCheck, buildAccessCheck(isLinked)],
  };
  const all: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    // Of CORS, and no part of the interface.
    if (route.url === '*') return;
    prepareRoute(route, admission, allowedMethods);
    all.push(route);
  });

  if (config.CORS_ORIGINS !== undefined) allowOrigins(app, config.CORS_ORIGINS, preflightLimit);
  routes(app);
  addHealthRoutes(app, () => (isDraining() ? stopping : checkHealth()));
  addConsoleRoutes(app, consoleFolder, outgoingBytes, filesOrigin?.origin ?? null);
  addDocumentationRoutes(app, outgoingBytes, () => buildDocument(all, { version, serverUrl: config.PUBLIC_URL ?? '/' }));
  return app;
}

/** Every route that is not public needs a token with sufficient rights. Every route refuses unknown query parameters, and `Accept` of what it has not. */
function prepareRoute(
  route: RouteOptions,
  admission: Readonly<Record<'ofTeams' | 'ofOperators', readonly onRequestHookHandler[]>>,
  allowedMethods: AllowedMethods,
): void {
  allowedMethods.add(route.url, route.method);
  const { operation } = route.config ?? {};
  const checkType = operation === undefined ? null : buildAnswerTypeCheck(operation);
  if (checkType !== null) route.preValidation = [checkType, ...[route.preValidation ?? []].flat()];
  if (route.config?.public !== true) {
    const admitting = route.config?.forOperators === true ? admission.ofOperators : admission.ofTeams;
    route.onRequest = [...admitting, ...[route.onRequest ?? []].flat()];
  }
  route.schema = { querystring: noQuery, ...route.schema };
}

/** Counts the requests that need no token, also those to paths that do not exist. The others are counted by their team, or as refused tokens. */
function limitPublic(limit: AddressLimit): onRequestHookHandler {
  return function onRequest(request, _reply, done) {
    const needsToken = !request.is404 && request.routeOptions.url !== '*' && request.routeOptions.config.public !== true;
    const refusal = needsToken ? null : limit.count(request);
    if (refusal === null) done();
    else refusal.then(done, done);
  };
}

/** Scripts in files have whatever is at their origin: there is nothing but files. */
function buildFilesOnly(filesOrigin: FilesOrigin) {
  return function onRequest(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    if (filesOrigin.isAskedBy(request) && !request.raw.url!.startsWith('/files/')) replyWithError(reply, 'not_found', 'Only files are at this address.');
    else done();
  };
}

/** The query parser keeps broken percent-encoding as text, so that a wrong text would pass for a right one. */
function refuseBrokenQuery(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const url = request.raw.url!;
  const start = url.indexOf('?');
  const broken = start !== -1 && url.includes('%', start)
    ? url.slice(start + 1).split('&').find((parameter) => !isPercentEncoded(parameter))
    : undefined;
  if (broken === undefined) {
    done();
    return;
  }
  const [name] = broken.split('=', 1);
  const place = isPercentEncoded(name!) ? `query.${decodeURIComponent(name!)}` : 'query';
  done(new HttpError('request_validation_error', `${place}: it is not validly percent-encoded.`));
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    // decodeURIComponent throws only for broken escapes and invalid UTF-8.
    return false;
  }
}

/**
 * How long a stop waits for requests in transit, if the servers listen: several pauses, in milliseconds. After each pause everything that has arrived is
 * read, even if a busy machine delays it.
 */
const lastRequests = { pauses: 5, pauseMs: 20 };

/** Makes `app.close()` wait for requests in flight. Returns whether draining has begun. */
function drainOnClose(app: App, servers: readonly Server[], timeoutMs: number): () => boolean {
  let draining = false;
  let stopWatch: (() => void) | null = null;
  app.addHook('onSend', (_request, reply, payload, done) => {
    // So that clients send no further request on a connection that is about to close.
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

/** Routes read bodies as streams: Fastify must treat every method as one without a body. */
function leaveBodiesUnread(app: App): void {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
}

/** 405 if the path has other methods, else 404. */
function replyNotRouted(request: FastifyRequest, reply: FastifyReply, allowedMethods: AllowedMethods): void {
  const methods = allowedMethods.of(request.url);
  if (methods.length === 0) {
    replyWithError(reply, 'not_found', 'There is nothing at this path.');
    return;
  }
  const allow = methods.join(', ');
  replyWithError(reply, 'method_not_allowed', `This path knows ${allow}, not ${request.method}.`, { allow });
}

/** IDs that are unique across requests and processes, for the cost of a counter. */
function buildRequestIds(): () => string {
  const process = randomBytes(6).toString('base64url');
  let last = 0;
  return () => {
    last += 1;
    return `${process}-${last.toString(36)}`;
  };
}
