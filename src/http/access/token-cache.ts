/** Caches the principals of tokens briefly, so that not every request queries Postgres. */
import { LRUCache } from 'lru-cache';
import type { KnownToken } from '../../../projections/teams/teams.queries.ts';
import { isAccessToken } from '../../security/access-token.ts';
import type { Authenticate, Principal } from './authenticate.ts';

/** How long an answer is cached after the query began, in milliseconds: a revocation takes effect within this time on every process. */
const lifeMs = 1000;
const entriesMax = 10_000;

interface Entry {
  readonly principal: Principal | null;
  /** Milliseconds of log time; Infinity: never. */
  readonly expiresAt: number;
}

export interface TokenCacheOptions {
  /** Null for a token that is unknown or revoked. */
  readonly find: (token: string) => Promise<KnownToken | null>;
  /** The log's time, in milliseconds. */
  readonly now: () => number;
  /** Called with the use of a token; at most once while the token is cached. */
  readonly onUse: (tokenId: string, time: number) => void;
}

/** Wraps the look-up of a token. Malformed tokens are refused without a query. */
export function cacheTokens({ find, now, onUse }: TokenCacheOptions): Authenticate {
  // Every `get` reads the clock (`ttlResolution: 0`): a cached time grows stale while the thread is busy.
  const entries = new LRUCache<string, Entry>({ max: entriesMax, ttl: lifeMs, ttlResolution: 0 });

  async function lookUp(token: string): Promise<Principal | null> {
    const start = performance.now();
    const entry = toEntry(await find(token));
    entries.set(token, entry, { start });
    const principal = principalOf(entry);
    if (principal !== null) onUse(principal.tokenId, now());
    return principal;
  }

  /** The principal, or null once the token has expired. */
  function principalOf({ principal, expiresAt }: Entry): Principal | null {
    return expiresAt !== Infinity && now() >= expiresAt ? null : principal;
  }

  return (token) => {
    const known = entries.get(token);
    if (known !== undefined) return principalOf(known);
    return isAccessToken(token) ? lookUp(token) : null;
  };
}

function toEntry(known: KnownToken | null): Entry {
  if (known === null) return { principal: null, expiresAt: Infinity };
  const { id, teamId, readOnly, appId, expiresAt } = known;
  return { principal: { teamId, tokenId: id, readOnly, appId }, expiresAt: expiresAt ?? Infinity };
}
