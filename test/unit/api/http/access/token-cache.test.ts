/** What a token stands for is remembered for a moment, and not beyond its expiry. */
import { describe, expect, jest, test } from '@jest/globals';
import type { KnownToken } from '../../../../../projections/teams/teams.queries.ts';
import { newAccessToken } from '../../../../../src/storage/security/access-token.ts';
import type { Principal } from '../../../../../src/api/http/access/authenticate.ts';
import { DeferredLookUps } from '../../../../../src/api/http/access/deferred-look-ups.ts';
import { cacheTokens } from '../../../../../src/api/http/access/token-cache.ts';
import { sleepUntil } from '../../../../support/server.ts';

const known: KnownToken = { id: 'id', teamId: 'team', expiresAt: null, readOnly: true, appId: 'app' };
const principal: Principal = { tokenId: 'id', teamId: 'team', readOnly: true, appId: 'app' };
const token = newAccessToken();
const client = { ip: '10.0.0.1' };

function cacheOf(found: KnownToken | null) {
  const clock = { now: 1000 };
  const find = jest.fn(async (_token: string) => found);
  const onUse = jest.fn();
  return { clock, find, onUse, authenticate: cacheTokens({ find, now: () => clock.now, onUse }) };
}

test('a token is looked up once, and then comes from the cache', async () => {
  const { authenticate, find, onUse } = cacheOf(known);
  expect(await authenticate(token, client)).toEqual(principal);
  expect(authenticate(token, client)).toEqual(principal);
  expect(find.mock.calls).toEqual([[token]]);
  expect(onUse.mock.calls).toEqual([['id', 1000]]);
});

test('a token without a team belongs to an operator', async () => {
  const { authenticate } = cacheOf({ ...known, teamId: null, expiresAt: 2000, readOnly: false, appId: null });
  expect(await authenticate(token, client)).toEqual({ teamId: null, tokenId: 'id' });
});

test('after a moment the token is looked up again, and the new result counts', async () => {
  const { authenticate, find } = cacheOf(known);
  expect(await authenticate(token, client)).toEqual(principal);
  find.mockResolvedValue(null);
  await sleepUntil(async () => (await authenticate(token, client)) === null, 'the token is unknown');
  expect(find).toHaveBeenCalledTimes(2);
});

test('an unknown token is cached too', async () => {
  const { authenticate, find, onUse } = cacheOf(null);
  expect(await authenticate(token, client)).toBeNull();
  expect(authenticate(token, client)).toBeNull();
  expect(find).toHaveBeenCalledTimes(1);
  expect(onUse).not.toHaveBeenCalled();
});

test('a malformed token is not looked up', () => {
  const { authenticate, find } = cacheOf(known);
  for (const other of ['', 'x', `${token}x`, token.toUpperCase()]) expect(authenticate(other, client)).toBeNull();
  expect(find).not.toHaveBeenCalled();
});

test('a cached token is refused as soon as it expires', async () => {
  const { authenticate, clock, find } = cacheOf({ ...known, expiresAt: 2000 });
  expect(await authenticate(token, client)).toEqual(principal);
  clock.now = 1999;
  expect(authenticate(token, client)).toEqual(principal);
  clock.now = 2000;
  expect(authenticate(token, client)).toBeNull();
  expect(find).toHaveBeenCalledTimes(1);
});

test('an expired token does not count as used', async () => {
  const { authenticate, onUse } = cacheOf({ ...known, expiresAt: 1000 });
  expect(await authenticate(token, client)).toBeNull();
  expect(onUse).not.toHaveBeenCalled();
});

test('a failed look-up is not cached', async () => {
  const { authenticate, find } = cacheOf(known);
  find.mockRejectedValueOnce(new Error('away'));
  await expect(authenticate(token, client)).rejects.toThrow('away');
  expect(await authenticate(token, client)).toEqual(principal);
});

describe('of a client that has sent many wrong tokens', () => {
  function suspectCacheOf(found: KnownToken | null) {
    const find = jest.fn(async (_token: string) => found);
    const later = jest.fn((_token: string): Promise<KnownToken | null> | null => Promise.resolve(found));
    let isSuspect = true;
    const authenticate = cacheTokens({
      find,
      suspects: { isSuspect: () => isSuspect, find: later },
      now: () => 1000,
      onUse: () => undefined,
    });
    return {
      find,
      later,
      authenticate,
      trust: (trusted: boolean) => {
        isSuspect = !trusted;
      },
    };
  }

  test('a token is looked up after a delay, and then comes from the cache', async () => {
    const { find, later, authenticate } = suspectCacheOf(known);
    expect(await authenticate(token, client)).toEqual(principal);
    expect(authenticate(token, client)).toEqual(principal);
    expect([find.mock.calls, later.mock.calls]).toEqual([[], [[token]]]);
  });

  test('a token that was valid before is looked up at once, until it is refused', async () => {
    const { find, later, authenticate, trust } = suspectCacheOf(known);
    trust(true);
    expect(await authenticate(token, client)).toEqual(principal);
    trust(false);
    find.mockResolvedValue(null);
    await sleepUntil(async () => (await authenticate(token, client)) === null, 'it is refused');
    expect(later).not.toHaveBeenCalled();
    await sleepUntil(async () => {
      await authenticate(token, client);
      return later.mock.calls.length === 1;
    }, 'it is remembered no more');
    expect(find).toHaveBeenCalledTimes(2);
  });

  test('a token for which there is no room is refused at once, and not cached', async () => {
    const { later, authenticate } = suspectCacheOf(known);
    later.mockReturnValueOnce(null);
    expect(authenticate(token, client)).toBeNull();
    expect(await authenticate(token, client)).toEqual(principal);
  });
});

describe('delayed look-ups', () => {
  test('are one query, for up to the maximum of tokens', async () => {
    const queries: (readonly string[])[] = [];
    const lookUps = new DeferredLookUps(async (tokens) => {
      queries.push(tokens);
      return new Map([['1', known]]);
    });
    const found = Array.from({ length: 1500 }, (_, n) => lookUps.find(String(n % 1200)));
    expect(found.filter((one) => one === null)).toHaveLength(200);
    const answers = await Promise.all(found.map(async (one) => one));
    expect(answers.filter((one) => one === known)).toHaveLength(2);
    expect(queries.map(({ length }) => length)).toEqual([1000]);
    expect(await lookUps.find('1')).toBe(known);
    expect(queries[1]).toEqual(['1']);
  });

  test('all fail if their query fails, and later ones do not', async () => {
    let fails = true;
    const lookUps = new DeferredLookUps(async () => {
      if (fails) throw new Error('away');
      return new Map();
    });
    const outcomes = await Promise.allSettled([lookUps.find('1'), lookUps.find('2')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await lookUps.find('1')).toBeNull();
  });
});
