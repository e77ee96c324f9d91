/** What a token may do, on every route that there is. */
import { describe, expect, jest, test } from '@jest/globals';
import type { RouteOptions } from 'fastify';
import { appsToLinkOf, cacheLinks, type IsLinked } from '../../../../../src/api/http/access/access.ts';
import type { Identity, Principal } from '../../../../../src/api/http/access/authenticate.ts';
import { addAllRoutes } from '../all-routes.ts';
import { authorization, buildEdge, errorOf, unlimited, type Edge } from '../server/edge-app.ts';

const mine = '01890000-0000-7000-8000-00000000000a';
const theirs = '01890000-0000-7000-8000-00000000000b';
const team: Principal = { ...unlimited, teamId: 't1' };
const ofApp: Principal = { ...team, appId: 'app 1' };

/** All routes of the interface, and two of an app. Each handler only answers, and validates no parameters. */
function edgeOf(
  identity: Identity,
  isLinked: IsLinked = async (teamId, tableId) => teamId === 't1' && tableId === mine,
): Edge & { routes: RouteOptions[] } {
  const routes: RouteOptions[] = [];
  const edge = buildEdge(
    (app) => {
      app.addHook('onRoute', (route) => {
        delete route.schema?.params;
        delete route.schema?.querystring;
        route.handler = async () => ({});
        routes.push(route);
      });
      addAllRoutes(app);
      app.get('/apps/:appID/things', async () => ({}));
      app.post('/apps/:appID/things', async () => ({}));
    },
    { authenticate: () => identity, isLinked },
  );
  return { ...edge, routes: routes.filter(({ config }) => config?.public !== true) };
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly isOfTeam: boolean;
}

const askedOf = (routes: readonly RouteOptions[]): Asked[] =>
  routes.flatMap(({ method, url, config }) => {
    return [method].flat().map((one) => ({ method: one, url, isOfTeam: config?.operation?.isOfTeam === true }));
  });
const all = edgeOf(team).routes;
const asked = askedOf(all.filter(({ config }) => config?.forOperators !== true));
const ofOperators = askedOf(all.filter(({ config }) => config?.forOperators === true));
const writes = asked.filter(({ method, url }) => method !== 'GET' && method !== 'HEAD' && !url.endsWith('/query'));
const reads = asked.filter((one) => !writes.includes(one));
const ofTables = asked.filter(({ url }) => url.includes(':tableID'));
const ofApps = asked.filter(({ url }) => url.includes(':appID'));

/** The parameters of a path are put in; those that are not named are `x`. */
async function ask({ app }: Edge, { method, url }: Asked, parameters: Readonly<Record<string, string>> = {}) {
  const path = url.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(parameters[name] ?? 'x'));
  const answer = await app.inject({ method: method as 'GET', url: path, headers: { authorization } });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
}

test('there are routes of all kinds', () => {
  expect([writes.length, reads.length, ofTables.length, ofApps.length].map((count) => count >= 2)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(asked.length).toBeGreaterThan(15);
});

describe('the token of an operator', () => {
  const operator: Identity = { teamId: null, tokenId: 'token' };

  test.each(ofOperators)('may $method $url, which no token of a team may', async (one) => {
    expect((await ask(edgeOf(operator), one)).status).toBe(200);
    for (const principal of [team, { ...team, readOnly: true }, ofApp]) {
      expect(await ask(edgeOf(principal), one)).toEqual({
        status: 403,
        body: errorOf('forbidden', 'This path needs a token of an operator.'),
      });
    }
  });

  test.each(asked)('may not $method $url', async (one) => {
    const { status, body } = await ask(edgeOf(operator), one, { tableID: mine });
    expect(status).toBe(403);
    if (one.method !== 'HEAD')
      expect(body).toEqual(
        errorOf('forbidden', 'This token belongs to an operator: it works only on paths under /admin.'),
      );
  });

  test('opens all paths under /admin, and no others', () => {
    expect(ofOperators.length).toBeGreaterThan(10);
    expect(ofOperators.map(({ url }) => url)).toEqual(ofOperators.map(() => expect.stringMatching(/^\/admin\//)));
    expect(asked.map(({ url }) => url)).not.toContainEqual(expect.stringMatching(/^\/admin/));
  });
});

describe('a token for reading only', () => {
  test.each(writes)('may not $method $url', async (one) => {
    const forbidden = { status: 403, body: errorOf('forbidden', 'This token is for reading only.') };
    expect(await ask(edgeOf({ ...team, readOnly: true }), one)).toEqual(forbidden);
    expect(await ask(edgeOf({ ...ofApp, readOnly: true }), one, { tableID: mine, appID: 'app 1' })).toEqual(forbidden);
  });

  test.each(reads)('a token for reading only may send $method $url', async (one) => {
    expect((await ask(edgeOf({ ...team, readOnly: true }), one)).status).toBe(200);
  });
});

describe('a token of an app', () => {
  const parameters = { tableID: mine, appID: 'app 1' };

  test.each(asked.filter(({ isOfTeam }) => isOfTeam))(
    'may not $method $url, which concerns the whole team',
    async (one) => {
      expect(await ask(edgeOf(ofApp), one)).toEqual({
        status: 403,
        body: errorOf('forbidden', 'This token is limited to one app. The request needs a token of the whole team.'),
      });
    },
  );

  test.each(asked.filter(({ isOfTeam }) => !isOfTeam))('may $method $url of its own app', async (one) => {
    expect((await ask(edgeOf(ofApp), one, parameters)).status).toBe(200);
  });

  test.each(ofTables)('finds nothing at $method $url of other apps, or of none', async (one) => {
    for (const tableID of [theirs, 'x', '01890000-0000-7000-8000-00000000000A', `${mine}\0`]) {
      const { status, body } = await ask(edgeOf(ofApp), one, { ...parameters, tableID });
      expect(status).toBe(404);
      if (one.method !== 'HEAD') expect(body).toEqual(errorOf('table_not_found', 'There is no such table.'));
    }
  });

  test.each(ofApps)('may not $method $url of another app', async (one) => {
    for (const appID of ['app', 'app 1 ', 'APP 1', 'app%201']) {
      expect(await ask(edgeOf(ofApp), one, { appID })).toEqual({
        status: 403,
        body: errorOf('forbidden', 'This token is for another app.'),
      });
    }
  });

  test('is refused while its tables cannot be looked up', async () => {
    const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const edge = edgeOf(ofApp, () => Promise.reject(away));
    expect((await ask(edge, ofTables[0]!, parameters)).status).toBe(503);
  });
});

test.each(asked)('a token of the whole team may $method $url, without a look-up', async (one) => {
  const isLinked = jest.fn<IsLinked>();
  expect((await ask(edgeOf(team, isLinked), one)).status).toBe(200);
  expect(isLinked).not.toHaveBeenCalled();
});

describe('links', () => {
  test('are cached for this table, app and team once they exist', async () => {
    let linked = false;
    const look = jest.fn<IsLinked>(async () => linked);
    const isLinked = cacheLinks(look);
    expect(await isLinked('t1', mine, 'a')).toBe(false);
    linked = true;
    expect(await isLinked('t1', mine, 'a')).toBe(true);
    linked = false;
    expect(isLinked('t1', mine, 'a')).toBe(true);
    expect(look).toHaveBeenCalledTimes(2);
    expect([
      await isLinked('t2', mine, 'a'),
      await isLinked('t1', theirs, 'a'),
      await isLinked('t1', mine, 'b'),
    ]).toEqual([false, false, false]);
  });
});

describe('the apps of a new table', () => {
  test.each<[Principal, string[] | null, string[] | null]>([
    [team, null, null],
    [team, [], []],
    [team, ['b', 'a'], ['b', 'a']],
    [ofApp, null, ['app 1']],
    [ofApp, [], ['app 1']],
    [ofApp, ['app 1'], ['app 1']],
  ])('%j, asked for %j: %j', (principal, given, expected) => expect(appsToLinkOf(principal, given)).toEqual(expected));

  test.each([[['b']], [['app 1', 'b']], [['b', 'app 1']]])(
    'a token of an app may not request %j',
    (given: string[]) => {
      expect(() => appsToLinkOf(ofApp, given)).toThrow(expect.objectContaining({ type: 'forbidden' }));
    },
  );
});
