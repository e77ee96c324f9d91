/** What a token stands for is remembered for a moment, and not beyond its expiry. */
import { expect, jest, test } from '@jest/globals';
import type { KnownToken } from '../../../projections/teams/teams.queries.ts';
import { newAccessToken } from '../../../src/security/access-token.ts';
import type { Principal } from '../../../src/http/access/authenticate.ts';
import { cacheTokens } from '../../../src/http/access/token-cache.ts';
import { sleepUntil } from '../../support/server.ts';

const known: KnownToken = { id: 'id', teamId: 'team', expiresAt: null, readOnly: true, appId: 'app' };
const principal: Principal = { tokenId: 'id', teamId: 'team', readOnly: true, appId: 'app' };
const token = newAccessToken();

function cacheOf(found: KnownToken | null) {
  const clock = { now: 1000 };
  const find = jest.fn(async (_token: string) => found);
  const onUse = jest.fn();
  return { clock, find, onUse, authenticate: cacheTokens({ find, now: () => clock.now, onUse }) };
}

test('a token is looked up, and then known at once', async () => {
  const { authenticate, find, onUse } = cacheOf(known);
  expect(await authenticate(token)).toEqual(principal);
  expect(authenticate(token)).toEqual(principal);
  expect(find.mock.calls).toEqual([[token]]);
  expect(onUse.mock.calls).toEqual([['id', 1000]]);
});

test('after a moment it is looked up again, and what was found then counts', async () => {
  const { authenticate, find } = cacheOf(known);
  expect(await authenticate(token)).toEqual(principal);
  find.mockResolvedValue(null);
  await sleepUntil(async () => await authenticate(token) === null, 'the token is unknown');
  expect(find).toHaveBeenCalledTimes(2);
});

test('that there is no such token is known too', async () => {
  const { authenticate, find, onUse } = cacheOf(null);
  expect(await authenticate(token)).toBeNull();
  expect(authenticate(token)).toBeNull();
  expect(find).toHaveBeenCalledTimes(1);
  expect(onUse).not.toHaveBeenCalled();
});

test('what cannot be a token is not looked up', () => {
  const { authenticate, find } = cacheOf(known);
  for (const other of ['', 'x', `${token}x`, token.toUpperCase()]) expect(authenticate(other)).toBeNull();
  expect(find).not.toHaveBeenCalled();
});

test('a token that is remembered is refused from the moment on in which it expires', async () => {
  const { authenticate, clock, find } = cacheOf({ ...known, expiresAt: 2000 });
  expect(await authenticate(token)).toEqual(principal);
  clock.now = 1999;
  expect(authenticate(token)).toEqual(principal);
  clock.now = 2000;
  expect(authenticate(token)).toBeNull();
  expect(find).toHaveBeenCalledTimes(1);
});

test('a token that has expired is not used', async () => {
  const { authenticate, onUse } = cacheOf({ ...known, expiresAt: 1000 });
  expect(await authenticate(token)).toBeNull();
  expect(onUse).not.toHaveBeenCalled();
});

test('a look-up that fails is not remembered', async () => {
  const { authenticate, find } = cacheOf(known);
  find.mockRejectedValueOnce(new Error('away'));
  await expect(authenticate(token)).rejects.toThrow('away');
  expect(await authenticate(token)).toEqual(principal);
});
