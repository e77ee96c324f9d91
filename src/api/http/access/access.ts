/**
 * Authorization: whether a token may write, and which app and tables it can access. Decided here for all routes
 * (docs/decisions/0016).
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Principal } from './authenticate.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import { replyMissing } from '../answers/missing.ts';
import { tableIdOf } from '../requests/table-path.ts';

/** Whether a table of the team is linked to an app. A deleted table may still be linked. */
export type IsLinked = (teamId: string, tableId: string, appId: string) => boolean | Promise<boolean>;

/** How many links are cached. */
const linksMax = 10_000;

/** The hook that authorizes a principal. Only a token of an app costs a look-up. */
export function buildAccessCheck(isLinked: IsLinked) {
  return function onRequest(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const { teamId, readOnly, appId } = request.principal;
    const { operation } = request.routeOptions.config;
    if (readOnly && request.method !== 'GET' && request.method !== 'HEAD' && operation?.isRead !== true) {
      replyWithError(reply, 'forbidden', 'This token is for reading only.');
      return;
    }
    if (appId === null) {
      done();
      return;
    }
    if (operation?.isOfTeam === true) {
      replyWithError(
        reply,
        'forbidden',
        'This token is limited to one app. The request needs a token of the whole team.',
      );
      return;
    }
    const { appID, tableID } = request.params as { readonly appID?: string; readonly tableID?: string };
    if (appID !== undefined && appID !== appId) {
      replyWithError(reply, 'forbidden', 'This token is for another app.');
      return;
    }
    if (tableID === undefined) {
      done();
      return;
    }
    // Tables of other apps look as if they did not exist.
    const admit = (linked: boolean): void => {
      if (linked) done();
      else replyMissing(reply, 'table_not_found');
    };
    const linked = isLinked(teamId, tableIdOf(request), appId);
    if (linked instanceof Promise) linked.then(admit, done);
    else admit(linked);
  };
}

/** Caches links that exist: they are created with the table, and never change. */
export function cacheLinks(isLinked: IsLinked): IsLinked {
  const known = new LRUCache<string, true>({ max: linksMax });

  async function lookUp(teamId: string, tableId: string, appId: string): Promise<boolean> {
    const linked = await isLinked(teamId, tableId, appId);
    if (linked) known.set(keyOf(teamId, tableId, appId), true);
    return linked;
  }

  return (teamId, tableId, appId) => known.get(keyOf(teamId, tableId, appId)) ?? lookUp(teamId, tableId, appId);
}

/**
 * The apps that a new table is linked to: the requested ones, or null if the request names none. The token of an app
 * links its tables to that app only. Throws HttpError `forbidden` when such a token requests another app.
 */
export function appsToLinkOf({ appId }: Principal, asked: readonly string[] | null): readonly string[] | null {
  if (appId === null) return asked;
  const other = asked?.find((app) => app !== appId);
  if (other === undefined) return [appId];
  throw new HttpError(
    'forbidden',
    `appsToLink: this token is limited to one app, which is not ${JSON.stringify(other)}.`,
  );
}

/** IDs of teams and tables contain no blank. The app ID may, so it comes last. */
function keyOf(teamId: string, tableId: string, appId: string): string {
  return `${teamId} ${tableId} ${appId}`;
}
