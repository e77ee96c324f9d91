/** Builds the HTTP interface from the parts of the process and the routes of its features. */
import { cacheLinks } from '../api/http/access/access.ts';
import type { Authenticate } from '../api/http/access/authenticate.ts';
import { DeferredLookUps } from '../api/http/access/deferred-look-ups.ts';
import { cacheTokens } from '../api/http/access/token-cache.ts';
import { AddressLimit } from '../api/http/limits/address-limit.ts';
import { originOf } from '../api/http/requests/origin.ts';
import type { CheckHealth } from '../api/http/service/health.ts';
import { metricsRoute } from '../api/http/service/metrics.ts';
import type { App } from '../api/http/server/app-type.ts';
import { buildApp } from '../api/http/server/app.ts';
import type { OpenFeature } from './feature.ts';
import { refuseWhileBehind, type SharedParts } from './shared-parts.ts';

/** Builds the HTTP interface. A projector serves only health, metrics and documentation. */
export function buildService(parts: SharedParts, opened: readonly OpenFeature[], checkHealth: CheckHealth): App {
  const { config, log, queries, metrics, refusedTokens } = parts;
  const { tables } = queries.tables;
  return buildApp({
    ...parts,
    log: parts.logger,
    authenticate: authenticatorOf(parts),
    preflightLimit: AddressLimit.of('preflights', config, metrics.requests),
    publicLimit: AddressLimit.of('public_requests', config, metrics.requests),
    outgoingBytes: parts.shares.outgoingBytes,
    onRefusedToken: (request) => refusedTokens.add(originOf(request)),
    quarantinedSince: (teamId) => log.quarantinedSince(teamId),
    isLinked: cacheLinks((teamId, tableId, appId) => tables.isLinked(teamId, tableId, appId)),
    checkHealth,
    observer: metrics.requests,
    routes: (app) => {
      if (config.METRICS_PORT === undefined) app.route(metricsRoute(metrics));
      if (config.ROLE === 'projector') return;
      for (const { routes } of opened) routes?.(app);
    },
  });
}

function authenticatorOf({ log, queries: { teams }, addressLimit, reachHead, tokenUses }: SharedParts): Authenticate {
  const deferred = new DeferredLookUps((tokens) => teams.tokensAmong(tokens));
  const authenticate = cacheTokens({
    find: async (token) => {
      const known = await teams.token(token);
      const reaching = known === null ? reachHead(null) : null;
      if (reaching === null) return known;
      await reaching;
      return teams.token(token);
    },
    ...(addressLimit !== null && {
      suspects: { isSuspect: (request) => addressLimit.isUsedUp(request), find: deferred.find.bind(deferred) },
    }),
    now: () => log.now(),
    onUse: (tokenId, time) => tokenUses.add(tokenId, time),
  });
  return (token, request) => (log.isCaughtUp ? authenticate(token, request) : refuseWhileBehind());
}
