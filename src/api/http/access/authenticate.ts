/**
 * Authentication by the bearer token of a request (spec section 5). The token belongs to a team or to an operator
 * (docs/decisions/0034).
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import type { AddressLimit } from '../limits/address-limit.ts';
import { acquit } from '../server/address-connections.ts';

/** The identity and rights behind the token of a team. */
export interface Principal {
  readonly teamId: string;
  readonly tokenId: string;
  /** Whether it may only read. */
  readonly readOnly: boolean;
  /** The only app that the token grants access to; null: the whole team. */
  readonly appId: string | null;
}

/** The identity behind the token of an operator. */
interface Operator {
  /** An operator belongs to no team. */
  readonly teamId: null;
  readonly tokenId: string;
}

/** The team or the operator that a token belongs to. */
export type Identity = Principal | Operator;

/** Finds out whose token it is. Null if the token is unknown, revoked or expired. Rejects only if the service fails. */
export type Authenticate = (
  token: string,
  request: Pick<FastifyRequest, 'ip'>,
) => Identity | null | Promise<Identity | null>;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route for teams. */
    principal: Principal;
    /** Set on every route for operators. */
    operator: Operator;
  }
  interface FastifyContextConfig {
    /** Whether the route needs no bearer token. */
    public?: boolean;
    /** Whether the route is for tokens of operators; all others are for those of teams. */
    forOperators?: boolean;
  }
}

const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Called with each request whose token is refused. */
export type OnRefusedToken = (request: FastifyRequest) => void;

/** All bad tokens get the same answer, so that it does not reveal which tokens exist. */
const refusal = new HttpError('request_error', 'The bearer token does not exist or is incorrect.');
/** For a request without the header `Authorization`. */
const missing = new HttpError(
  'request_error',
  'The request has no bearer token: send the header "Authorization: Bearer <token>".',
);

/** The hook that authenticates a request. A cached identity costs no turn of the event loop. */
export function buildAuthenticator(
  authenticate: Authenticate,
  onRefused: OnRefusedToken,
  addressLimit: AddressLimit | null,
) {
  function admit(
    identity: Identity | null,
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void {
    if (identity === null) {
      onRefused(request);
      const error = request.raw.headers.authorization === undefined ? missing : refusal;
      const answer = ({ type, message, headers }: HttpError): void =>
        void replyWithError(reply, type, message, headers);
      if (addressLimit === null) answer(error);
      else addressLimit.refuse(request, error).then(answer, done);
      return;
    }
    const forOperators = request.routeOptions.config.forOperators === true;
    if (forOperators !== (identity.teamId === null)) {
      replyWithError(
        reply,
        'forbidden',
        forOperators
          ? 'This path needs a token of an operator.'
          : 'This token belongs to an operator: it works only on paths under /admin.',
      );
      return;
    }
    acquit(request.raw.socket);
    if (identity.teamId === null) request.operator = identity;
    else request.principal = identity;
    done();
  }

  return function onRequest(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const token = bearerToken(request.raw.rawHeaders);
    const found = token === null ? null : authenticate(token, request);
    if (found instanceof Promise) {
      found.then((identity) => admit(identity, request, reply, done), done);
      return;
    }
    admit(found, request, reply, done);
  };
}

/** The token; null if the header is missing, malformed or repeated (Node would take the first). */
function bearerToken(rawHeaders: readonly string[]): string | null {
  let header: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (header !== null) return null;
    header = rawHeaders[index + 1]!;
  }
  return header === null ? null : (bearer.exec(header)?.[1] ?? null);
}
