/** Remembers for a moment which team a token speaks for, so that not every request asks Postgres for it. */
import { isAccessToken } from '../access-token.ts';
import type { Authenticate, Principal } from './authenticate.ts';

/** How long an answer is trusted, in milliseconds: a revocation takes effect within it on every process. */
const lifeMs = 1000;
const entriesMax = 10_000;

interface Entry {
  readonly principal: Principal | null;
  readonly until: number;
}

/** Wraps the look-up of a token. What cannot be a token is refused without asking. */
export function cacheTokens(teamOfToken: (token: string) => Promise<string | null>): Authenticate {
  const entries = new Map<string, Entry>();

  async function lookUp(token: string): Promise<Principal | null> {
    const teamId = await teamOfToken(token);
    const principal = teamId === null ? null : { teamId };
    entries.delete(token);
    entries.set(token, { principal, until: performance.now() + lifeMs });
    if (entries.size > entriesMax) {
      const [oldest] = entries.keys();
      entries.delete(oldest!);
    }
    return principal;
  }

  return (token) => {
    const known = entries.get(token);
    if (known && performance.now() < known.until) return known.principal;
    return isAccessToken(token) ? lookUp(token) : null;
  };
}
