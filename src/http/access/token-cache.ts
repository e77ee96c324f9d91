/** Remembers for a moment what a token stands for, so that not every request asks Postgres for it. */
import { LRUCache } from 'lru-cache';
import type { KnownToken } from '../../../projections/teams/teams.queries.ts';
import { isAccessToken } from '../../security/access-token.ts';
import type { Authenticate, Principal } from './authenticate.ts';

/** How long an answer is trusted after it was asked for, in milliseconds: a revocation takes effect within it on every process. */
const lifeMs = 1000;
const entriesMax = 10_000;

interface Entry {
  readonly principal: Principal | null;
  /** Milliseconds of log time; Infinity: never. */
  readonly expiresAt: number;
}

export interface TokenCacheOptions {
  /** Gives null for a token that is unknown or revoked. */
  readonly find: (token: string) => Promise<KnownToken | null>;
  /** The log's time, in milliseconds. */
  readonly now: () => number;
  /** Hears of the use of a token, and of further ones while this one is remembered only once. */
  readonly onUse: (tokenId: string, time: number) => void;
}

/** Wraps the look-up of a token. What cannot be a token is refused without asking. */
export function cacheTokens({ find, now, onUse }: TokenCacheOptions): Authenticate {
  // Each look asks the clock itself: a time that is remembered, however shortly, grows old while the thread is busy.
  const entries = new LRUCache<string, Entry>({ max: entriesMax, ttl: lifeMs, ttlResolution: 0 });

  async function lookUp(token: string): Promise<Principal | null> {
    const start = performance.now();
    const entry = toEntry(await find(token));
    entries.set(token, entry, { start });
    const principal = principalOf(entry);
    if (principal !== null) onUse(principal.tokenId, now());
    return principal;
  }

  /** What a token stands for now. */
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
