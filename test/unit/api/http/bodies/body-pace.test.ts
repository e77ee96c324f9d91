/**
 * Clients that send bodies too slowly are answered 408 and cut off. Only the time counts in which the service waits for
 * them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { bodyChunks, collectBody } from '../../../../../src/api/http/bodies/request-body.ts';
import { collectInPlace } from '../../../../../src/api/http/bodies/body-place.ts';
import { FairShares } from '../../../../../src/api/http/limits/fair-shares.ts';
import type { App } from '../../../../../src/api/http/server/app-type.ts';
import { sleepUntil } from '../../../../support/server.ts';
import { buildEdge, edgeConfig, errorPattern, listen, RawClient, requestText } from '../server/edge-app.ts';

const late = errorPattern(408, 'request_timeout');
const bytesMax = 10_000_000;
const windowMs = 200;
const strict = { config: { ...edgeConfig, BODY_RATE_MIN: 1024, BODY_RATE_WINDOW_MS: windowMs } };
const newPlaces = (): FairShares =>
  new FairShares({ name: 'bodies', capacity: 1, waitMs: 60_000, onRefused: () => undefined });

const readers: Readonly<Record<string, (app: App) => void>> = {
  'as a whole': (app) => app.put('/body', async (request) => ({ data: (await collectBody(request, bytesMax)).length })),
  'in chunks': (app) =>
    app.put('/body', async (request) => {
      let data = 0;
      for await (const chunk of bodyChunks(request, bytesMax)) data += chunk.length;
      return { data };
    }),
  'in a place': (app) => {
    const places = newPlaces();
    app.put('/body', async (request) => ({ data: (await collectInPlace(places, request, bytesMax)).length }));
  },
};

for (const [way, addRoute] of Object.entries(readers)) {
  test(`a body that is read ${way}: nothing comes`, async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoute, strict).app));
    client.send(requestText('PUT /body', ['Content-Length: 100000']));
    expect(await client.ended()).toMatch(late);
    expect(client.received).toMatch(/\r\nconnection: close\r\n/i);
  });

  test(`a body that is read ${way}: it stops after its first part`, async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoute, strict).app));
    client.send(requestText('PUT /body', ['Content-Length: 200000'], 'x'.repeat(100_000)));
    expect(await client.ended()).toMatch(late);
  });

  test(`a body that is read ${way}: it comes fast enough, and is whole`, async () => {
    const client = await RawClient.open(
      await listen(buildEdge(addRoute, { config: { ...edgeConfig, BODY_RATE_MIN: 1, BODY_RATE_WINDOW_MS: 5000 } }).app),
    );
    client.send(requestText('PUT /body', ['Content-Length: 200000'], 'x'.repeat(100_000)));
    client.send('x'.repeat(100_000));
    await client.see(/\{"data":200000\}$/);
  });
}

test.each([
  ['a length of 0', ['Content-Length: 0'], ''],
  ['no chunk', ['Transfer-Encoding: chunked'], '0\r\n\r\n'],
])('a body with %s that ends while it is awaited is empty', async (_name, headers, rest) => {
  const client = await RawClient.open(
    await listen(
      buildEdge((edge) => {
        const places = newPlaces();
        edge.put('/body', async (request) => {
          const collected = collectInPlace(places, request, bytesMax);
          return { data: (await collected).length };
        });
      }).app,
    ),
  );
  for (let times = 0; times < 10; times += 1) {
    client.received = '';
    client.send(requestText('PUT /body', headers, rest));
    await client.see(/\{"data":0\}$/);
  }
});

test('a body that takes too long is ended, even if it arrives steadily', async () => {
  const { app } = buildEdge(readers['in chunks']!, {
    config: { ...edgeConfig, BODY_RATE_MIN: 0, BODY_RATE_WINDOW_MS: windowMs, BODY_TIME_MAX_MS: 500 },
  });
  const client = await RawClient.open(await listen(app));
  client.send(requestText('PUT /body', ['Content-Length: 10000000']));
  const sending = setInterval(() => client.send('x'), 20);
  expect(await client.ended()).toMatch(late);
  clearInterval(sending);
});

test('the time that the service takes itself does not count', async () => {
  const { app } = buildEdge(
    (edge) =>
      edge.put('/body', async (request) => {
        let data = 0;
        for await (const chunk of bodyChunks(request, bytesMax)) {
          if (data === 0) await sleep(5 * windowMs);
          data += chunk.length;
        }
        return { data };
      }),
    strict,
  );
  const client = await RawClient.open(await listen(app));
  client.send(requestText('PUT /body', ['Content-Length: 300000'], 'x'.repeat(300_000)));
  await client.see(/\{"data":300000\}$/);
});

test('a slow body takes a place with its first part, and loses it while another team waits', async () => {
  const places = newPlaces();
  const { app } = buildEdge((edge) =>
    edge.put('/body', async (request) => ({ data: (await collectInPlace(places, request, bytesMax)).length })),
  );
  const port = await listen(app);
  const [small, large] = [await RawClient.open(port), await RawClient.open(port)];
  small.send(requestText('PUT /body', ['Content-Length: 100000'], 'x'.repeat(1000)));
  large.send(requestText('PUT /body', ['Content-Length: 200000'], 'x'.repeat(100_000)));
  await sleepUntil(() => places.used === 1, 'the larger one has its place');
  const waiting = places.take('another team', 1);
  expect(await large.ended()).toMatch(late);
  (await waiting).release();
  small.send('x'.repeat(99_000));
  await small.see(/\{"data":100000\}$/);
  expect(places.used).toBe(0);
});
