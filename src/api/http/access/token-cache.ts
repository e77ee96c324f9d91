/** Caches for a second which team or operator a token belongs to, so that most requests need no query. */
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { KnownToken } from '../../../../projections/teams/teams.queries.ts';
import { largeLruCache } from '../../large-lru-cache.ts';
import { isAccessToken } from '../../../storage/security/access-token.ts';
import type { Authenticate, Identity } from './authenticate.ts';
import type { DeferredLookUps } from './deferred-look-ups.ts';

/**
 * How long an answer is cached after the query began, in milliseconds: a revocation takes effect within this time on
 * every process.
 */
const lifeMs = 1000;
const entriesMax = 10_000;

/** Maximum of remembered tokens. A remembered token was valid at its last look-up. */
const rememberedMax = 50_000;

interface Entry {
  readonly identity: Identity | null;
  /** Milliseconds of log time; Infinity: never. */
  readonly expiresAt: number;
}

interface TokenCacheOptions {
  /** Resolves with null for a token that is unknown or revoked. */
  readonly find: (token: string) => Promise<KnownToken | null>;
  /**
   * Looks up a token of a suspect client; null at once if it cannot be looked up now. A remembered token is looked up
   * by `find`, whoever sends it. Absent: no client is suspect.
   */
  readonly suspects?: {
    readonly isSuspect: (request: Pick<FastifyRequest, 'ip'>) => boolean;
    readonly find: DeferredLookUps['find'];
  };
  /** The log's time, in milliseconds. */
  readonly now: () => number;
  /** Called when a token is used, at most once while the token is cached. */
  readonly onUse: (tokenId: string, time: number) => void;
}

/** Wraps the look-up of a token. Malformed tokens are refused without a query. */
export function cacheTokens({ find, suspects, now, onUse }: TokenCacheOptions): Authenticate {
  // Every `get` reads the clock (`ttlResolution: 0`): a cached time grows stale while the thread is busy.
  const entries = new LRUCache<string, Entry>({ max: entriesMax, ttl: lifeMs, ttlResolution: 0 });
  const remembered = largeLruCache<string, true>(rememberedMax);

  async function lookUp(token: string, found: Promise<KnownToken | null>): Promise<Identity | null> {
    const start = performance.now();
    const entry = toEntry(await found);
    entries.set(token, entry, { start });
    const identity = identityOf(entry);
    if (identity === null) {
      remembered.delete(token);
      return null;
    }
    remembered.set(token, true);
    onUse(identity.tokenId, now());
    return identity;
  }

  /** The cached identity; null once the token has expired. */
  function identityOf({ identity, expiresAt }: Entry): Identity | null {
    return expiresAt !== Infinity && now() >= expiresAt ? null : identity;
  }

  return (token, request) => {
    const known = entries.get(token);
    if (known !== undefined) return identityOf(known);
    if (!isAccessToken(token)) return null;
    if (suspects === undefined || remembered.has(token) || !suspects.isSuspect(request))
      return lookUp(token, find(token));
    const deferred = suspects.find(token);
    return deferred === null ? null : lookUp(token, deferred);
  };
}

function toEntry(known: KnownToken | null): Entry {
  if (known === null) return { identity: null, expiresAt: Infinity };
  const { id, teamId, readOnly, appId, expiresAt } = known;
  const identity = teamId === null ? { teamId, tokenId: id } : { teamId, tokenId: id, readOnly, appId };
  return { identity, expiresAt: expiresAt ?? Infinity };
}
