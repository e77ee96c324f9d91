/**
 * What a token may do: whether it may change anything, and which app and tables it reaches. It is decided here, for all routes
 * (docs/decisions/0016).
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Principal } from './authenticate.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import { replyMissing } from '../answers/missing.ts';
import { tableIdOf } from '../requests/table-path.ts';

/** Whether a table of the team is linked to an app. One that was deleted may be linked still. */
export type IsLinked = (teamId: string, tableId: string, appId: string) => boolean | Promise<boolean>;

/** How many links are remembered. */
const linksMax = 10_000;

/** The hook that lets a principal in where it may go. Only a token of an app costs a look-up. */
export function buildAccessCheck(isLinked: IsLinked) {
  return function onRequest(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const { teamId, readOnly, appId } = request.principal;
    if (readOnly && request.method !== 'GET' && request.method !== 'HEAD') {
      replyWithError(reply, 'forbidden', 'This token is for reading only.');
      return;
    }
    if (appId === null) {
      done();
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
    // Tables of other apps are not told from those that are not there.
    const admit = (linked: boolean): void => {
      if (linked) done();
      else replyMissing(reply, 'table_not_found');
    };
    const linked = isLinked(teamId, tableIdOf(request), appId);
    if (linked instanceof Promise) linked.then(admit, done);
    else admit(linked);
  };
}

/** Remembers the links that it finds: they are made with the table, and never change. */
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
 * The apps that a new table is linked to: those that were asked for, or null where none was; with the token of an app, that one.
 * Throws HttpError `forbidden` when such a token asks for another one.
 */
export function appsToLinkOf({ appId }: Principal, asked: readonly string[] | null): readonly string[] | null {
  if (appId === null) return asked;
  const other = asked?.find((app) => app !== appId);
  if (other === undefined) return [appId];
  throw new HttpError('forbidden', `appsToLink: this token is for another app than ${JSON.stringify(other)}.`);
}

/** No ID has a blank in it, and what comes last may have any. */
function keyOf(teamId: string, tableId: string, appId: string): string {
  return `${teamId} ${tableId} ${appId}`;
}
