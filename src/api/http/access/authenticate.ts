/**
 * Authentication: the bearer token of a request (spec section 5), which is of a team or of an operator
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
  /** It is of no team. */
  readonly teamId: null;
  readonly tokenId: string;
}

/** Whose token it is. */
export type Identity = Principal | Operator;

/** Whose token it is; null if it is unknown, revoked or expired. Rejects only if the service fails. */
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

/** The same answer for all tokens, so that it does not reveal which exist. */
const refusal = new HttpError('request_error', 'The bearer token does not exist or is incorrect.');
/** For a request without the header. */
const missing = new HttpError(
  'request_error',
  'There is no bearer token: send one in the header Authorization, as "Bearer <token>".',
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
        forOperators ? 'This path is for tokens of operators only.' : 'The token of an operator is for /admin only.',
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

/** The token; null if it is missing or malformed, or if the header is repeated (Node would take the first). */
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
