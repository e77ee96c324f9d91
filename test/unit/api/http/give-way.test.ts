/** Which requests large bodies give way to. */
import { expect, jest, test } from '@jest/globals';
import { addAllRoutes } from './all-routes.ts';
import { authorization, buildEdge, unlimited } from './server/edge-app.ts';

test.each([
  ['a read', 'GET', '', {}, 1],
  ['a small body', 'PUT', Buffer.alloc(8192), {}, 1],
  ['a large body', 'PUT', Buffer.alloc(8193), {}, 0],
  ['a body whose length is not told', 'PUT', Buffer.alloc(10), { 'transfer-encoding': 'chunked' }, 0],
  ['a compressed body, which may hold very much more', 'PUT', Buffer.alloc(10), { 'content-encoding': 'zstd' }, 0],
] as const)('%s gives way, or does not', async (_, method, payload, headers, expected) => {
  const giveWay = jest.fn();
  const { app } = buildEdge(
    (edge) => {
      edge.addHook('onRoute', (route) => {
        if (route.config?.public !== true) route.handler = async () => ({});
      });
      addAllRoutes(edge, giveWay);
    },
    { authenticate: () => ({ ...unlimited, teamId: 't1' }) },
  );
  const url = method === 'PUT' ? '/stashes/s/1' : '/jobs/x';
  const answer = await app.inject({
    method,
    url,
    payload,
    headers: { authorization, 'content-type': 'application/json', ...headers },
  });
  expect(answer.statusCode).toBe(200);
  expect(giveWay).toHaveBeenCalledTimes(expected);
});
