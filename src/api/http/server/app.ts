/** The HTTP server with its routes, hooks and errors. The caller calls `listen`. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type {
  FastifyBaseLogger,
  FastifyRequest,
  FastifyReply,
  HookHandlerDoneFunction,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify';
import { z } from 'zod';
import type { App } from './app-type.ts';
import { buildAccessCheck, type IsLinked } from '../access/access.ts';
import { buildHeadCheck, type ReachHead } from '../access/at-head.ts';
import { buildQuarantineCheck, type QuarantinedSince } from '../access/quarantine.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { buildBoundedApp, type BoundedAppSettings } from './bounded-app.ts';
import { buildAuthenticator, type Authenticate, type OnRefusedToken } from '../access/authenticate.ts';
import { buildAnswerTypeCheck } from '../answers/answer-type.ts';
import { compressReply } from '../answers/compression.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import { buildDocument } from '../openapi/document.ts';
import type { AddressLimit } from '../limits/address-limit.ts';
import type { FairShares } from '../limits/fair-shares.ts';
import { allowOrigins } from './cors.ts';
import type { RequestObserver } from './request-observer.ts';
import type { ReadingFloor } from './slow-readers.ts';
import { addConsoleRoutes } from '../service/console.ts';
import { addDocumentationRoutes } from '../service/documentation.ts';
import { addHealthRoutes, stopping, type CheckHealth } from '../service/health.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import type { TeamActivity } from '../../usage/team-activity.ts';
import type { FilesOrigin } from '../requests/files-origin.ts';
import { compileValidator } from '../requests/validation.ts';

/** The settings of the HTTP interface. */
interface HttpSettings extends BoundedAppSettings {
  readonly PUBLIC_URL?: string | undefined;
  readonly CORS_ORIGINS?: '*' | readonly string[] | undefined;
}

export interface AppDependencies {
  readonly config: HttpSettings;
  readonly log: FastifyBaseLogger;
  /** How fast a client must read its answers. Absent: a default that is slower than any network that people use. */
  readonly readingFloor?: ReadingFloor;
  readonly authenticate: Authenticate;
  readonly onRefusedToken: OnRefusedToken;
  readonly quarantinedSince: QuarantinedSince;
  /** Absent: no other read model is ever in use. */
  readonly reachHead?: ReachHead;
  /** Limits refused tokens by the address of the client; absent: there is no limit. */
  readonly addressLimit?: AddressLimit | null;
  /** Limits preflights of browsers by the address of the client; absent: there is no limit. */
  readonly preflightLimit?: AddressLimit | null;
  /** Limits requests to paths that need no token, by the address of the client; absent: there is no limit. */
  readonly publicLimit?: AddressLimit | null;
  /** Limits the bytes of static files that clients have not read yet; absent: there is no limit. */
  readonly outgoingBytes?: FairShares | null;
  readonly isLinked: IsLinked;
  /** Absent, or null: files have no origin of their own. */
  readonly filesOrigin?: FilesOrigin | null;
  readonly checkHealth: CheckHealth;
  readonly observer: RequestObserver;
  /** Counts the requests of each team; absent: they are not counted. */
  readonly activity?: Pick<TeamActivity, 'requestEnded'> | null;
  /** Traces requests; absent: they are not traced. */
  readonly tracing?: Pick<Tracing, 'traceRequest'> | null;
  /** Adds the routes of the interface. */
  readonly routes: (app: App) => void;
}

/** The folder that `console/build.ts` writes. */
const consoleFolder = join(import.meta.dirname, '../../../../console/dist');

const noQuery = z.strictObject({});

const { version } = createRequire(import.meta.url)('../../../../package.json') as { readonly version: string };

/** Builds the server. `app.close()` drains it: requests in flight finish within DRAIN_TIMEOUT_MS. */
export function buildApp({
  config,
  log,
  readingFloor,
  authenticate,
  onRefusedToken,
  addressLimit = null,
  preflightLimit = null,
  publicLimit = null,
  outgoingBytes = null,
  quarantinedSince,
  reachHead = () => null,
  isLinked,
  filesOrigin = null,
  checkHealth,
  observer,
  activity = null,
  tracing = null,
  routes,
}: AppDependencies): App {
  const allowedMethods = new AllowedMethods();
  const { app, isDraining } = buildBoundedApp({ config, log, readingFloor, observer, activity, publicLimit });
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setNotFoundHandler((request, reply) => replyNotRouted(request, reply, allowedMethods));
  if (tracing !== null) app.addHook('onRequest', (request, reply, done) => tracing.traceRequest(request, reply, done));
  if (filesOrigin !== null) app.addHook('onRequest', buildFilesOnly(filesOrigin));
  app.addHook('preValidation', refuseBrokenQuery);
  app.addHook('onSend', compressReply);
  const authenticator = buildAuthenticator(authenticate, onRefusedToken, addressLimit);
  const headCheck = buildHeadCheck(reachHead);
  const admission = {
    ofOperators: [authenticator, headCheck],
    ofTeams: [authenticator, buildQuarantineCheck(quarantinedSince), headCheck, buildAccessCheck(isLinked)],
  };
  const all: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    // The route of CORS is no part of the interface.
    if (route.url === '*') return;
    prepareRoute(route, admission, allowedMethods);
    all.push(route);
  });

  if (config.CORS_ORIGINS !== undefined) allowOrigins(app, config.CORS_ORIGINS, preflightLimit);
  routes(app);
  addHealthRoutes(app, () => (isDraining() ? stopping : checkHealth()));
  addConsoleRoutes(app, consoleFolder, outgoingBytes, filesOrigin?.origin ?? null);
  addDocumentationRoutes(app, outgoingBytes, () =>
    buildDocument(all, { version, serverUrl: config.PUBLIC_URL ?? '/' }),
  );
  return app;
}

/**
 * Every route that is not public needs a token with sufficient rights. Every route refuses unknown query parameters,
 * and media types in `Accept` that it does not have.
 */
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

/**
 * The hook that answers 404 for everything but files on the origin of files. Scripts in files can reach whatever is on
 * their origin.
 */
function buildFilesOnly(filesOrigin: FilesOrigin) {
  return function onRequest(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    if (filesOrigin.isAskedBy(request) && !request.raw.url!.startsWith('/files/'))
      replyWithError(reply, 'not_found', 'This address serves only files.');
    else done();
  };
}

/** Refuses broken percent-encoding. The query parser would keep it as text. */
function refuseBrokenQuery(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const url = request.raw.url!;
  const start = url.indexOf('?');
  const broken =
    start !== -1 && url.includes('%', start)
      ? url
          .slice(start + 1)
          .split('&')
          .find((parameter) => !isPercentEncoded(parameter))
      : undefined;
  if (broken === undefined) {
    done();
    return;
  }
  const [name] = broken.split('=', 1);
  const place = isPercentEncoded(name!) ? `query.${decodeURIComponent(name!)}` : 'query';
  done(new HttpError('request_validation_error', `${place}: the percent-encoding is invalid.`));
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

/** Answers 405 if the path has other methods, otherwise 404. */
function replyNotRouted(request: FastifyRequest, reply: FastifyReply, allowedMethods: AllowedMethods): void {
  const methods = allowedMethods.of(request.url);
  if (methods.length === 0) {
    replyWithError(reply, 'not_found', 'There is nothing at this path.');
    return;
  }
  const allow = methods.join(', ');
  replyWithError(reply, 'method_not_allowed', `This path has no method ${request.method}. It has ${allow}.`, { allow });
}
