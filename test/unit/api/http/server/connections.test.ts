import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import type { App } from '../../../../../src/api/http/server/app-type.ts';
import { collectBody } from '../../../../../src/api/http/bodies/request-body.ts';
import { buildEdge, edgeConfig, errorPattern, listen, RawClient, requestText } from './edge-app.ts';

const config = { ...edgeConfig, DRAIN_TIMEOUT_MS: 60_000 };
const bad = errorPattern(400, 'request_validation_error');
const late = errorPattern(408, 'request_timeout');

/** A route that answers when it is let. */
class Gate {
  readonly entered: Promise<void>;
  open: () => void = () => {};
  #enter: () => void = () => {};
  readonly #opened: Promise<void>;

  constructor() {
    this.entered = new Promise((resolve) => {
      this.#enter = resolve;
    });
    this.#opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  readonly addRoutes = (app: App): void => {
    app.route({
      method: ['GET', 'DELETE'],
      url: '/slow',
      handler: async () => {
        this.#enter();
        await this.#opened;
        return { data: 'done' };
      },
    });
    app.put('/body', async (request) => ({ data: (await collectBody(request, 1_000)).toString() }));
    app.get('/quick', () => ({ data: 'quick' }));
  };
}

describe('malformed HTTP is answered as every error is', () => {
  test.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\n\r\n'],
    ['no host', 'GET /quick HTTP/1.1\r\n\r\n'],
    ['a header without a name', 'GET /quick HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n'],
    ['two lengths', 'PUT /body HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a length and chunks', 'PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0'],
    ['a header of 20 KB', `GET /quick HTTP/1.1\r\nHost: h\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a path of 20 KB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['an unknown expectation', 'GET /quick HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n'],
    ['CONNECT', 'CONNECT here:80 HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('%s is answered as every error is', async (_name, text) => {
    const client = await RawClient.open(await listen(buildEdge(new Gate().addRoutes).app));
    client.send(Buffer.from(text, 'latin1'));
    expect(await client.ended()).toMatch(bad);
  });

  test('a truncated header is answered', async () => {
    const client = await RawClient.open(await listen(buildEdge(new Gate().addRoutes).app));
    client.send('GET /quick HTTP/1.1\r\nHos');
    client.socket.end();
    expect(await client.ended()).toMatch(bad);
  });
});

test('two Authorization headers count as a wrong token', async () => {
  const client = await RawClient.open(await listen(buildEdge(new Gate().addRoutes).app));
  client.send(requestText('GET /quick', ['authorization: Bearer good-token']));
  await client.see(errorPattern(404, 'request_error'));
});

test.each([
  ['what follows it is malformed', [], '', 'garbage\r\n\r\n', true],
  ['its own body breaks after it took effect', ['Transfer-Encoding: chunked'], '1\r\na\r\n', 'zz\r\n', false],
])('a request in progress keeps its answer when %s', async (_name, headers, body, garbage, isRefusedAfterIt) => {
  const gate = new Gate();
  const { app } = buildEdge(gate.addRoutes);
  const client = await RawClient.open(await listen(app));
  client.send(requestText('DELETE /slow', headers, body));
  await gate.entered;
  const noticed = once(app.server, 'clientError');
  client.send(garbage);
  await noticed;
  gate.open();
  const [own, after] = (await client.ended()).split(/(?<=\{"data":"done"\})/) as [string, string?];
  expect(own).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\{"data":"done"\}$/);
  expect(after).toEqual(isRefusedAfterIt ? expect.stringMatching(bad) : undefined);
});

test('invalid HTTP after several requests is answered after all of them', async () => {
  const client = await RawClient.open(await listen(buildEdge(new Gate().addRoutes).app));
  client.send(
    `${requestText('GET /quick')}${requestText('GET /quick')}GET /quick HTTP/1.1\r\nHost: h\r\nX: \0\r\n\r\n`,
  );
  for (let more = 0; more < 20; more += 1) client.send('more\r\n');
  const statuses = (await client.ended()).match(/(?<=HTTP\/1\.1 )\d+/g);
  expect(statuses).toEqual(['200', '200', '400']);
});

describe('idle clients', () => {
  const impatient = { config: { ...config, REQUEST_IDLE_TIMEOUT_MS: 50 } };

  /** Shortens the time from when a request has arrived: before that, a slow machine may take longer. */
  const hurry = ({ server }: ReturnType<typeof buildEdge>['app']): void => {
    server.once('request', ({ socket }) => socket.setTimeout(50));
  };

  test('a client that stops in the middle of its body is answered and cut off', async () => {
    const { app } = buildEdge(new Gate().addRoutes);
    hurry(app);
    const client = await RawClient.open(await listen(app));
    client.send(requestText('PUT /body', ['Content-Length: 10'], 'abc'));
    expect(await client.ended()).toMatch(late);
  });

  test('a client that sends nothing is cut off', async () => {
    const client = await RawClient.open(await listen(buildEdge(new Gate().addRoutes, impatient).app));
    expect(await client.ended()).toBe('');
  });

  test('a client that waits for the service is not cut off', async () => {
    const gate = new Gate();
    const { app } = buildEdge(gate.addRoutes);
    hurry(app);
    const client = await RawClient.open(await listen(app));
    const timedOut = new Promise((resolve) => {
      app.server.prependListener('timeout', resolve);
    });
    client.send(requestText('GET /slow'));
    await gate.entered;
    await timedOut;
    gate.open();
    await client.see(/\{"data":"done"\}$/);
  });
});

describe('a client that reads an answer', () => {
  const answer = Buffer.alloc(64 * 1024 * 1024, 'x');
  const readingFloor = { bytesPerSecond: 1_000_000, windowMs: 50 };
  const large = (app: App): void => {
    app.get('/large', { config: { public: true } }, (_request, reply) => reply.send(answer));
  };

  test('too slowly is cut off', async () => {
    const { app } = buildEdge(large, { readingFloor });
    const port = await listen(app);
    const cutOff = new Promise((resolve) => {
      app.server.once('connection', (socket: Socket) => socket.once('close', resolve));
    });
    const client = await RawClient.open(port);
    client.socket.pause();
    client.send(requestText('GET /large'));
    await cutOff;
    client.socket.resume();
    expect((await client.ended()).length).toBeLessThan(answer.length);
  });

  test('without a pause is not cut off, however long that takes', async () => {
    const client = await RawClient.open(
      await listen(buildEdge(large, { readingFloor: { bytesPerSecond: 1, windowMs: 5000 } }).app),
    );
    client.send(requestText('GET /large', ['Connection: close']));
    expect((await client.ended()).length).toBeGreaterThan(answer.length);
  });
});

describe('close', () => {
  test('waits for requests in flight, accepts no new connections, and ends kept-alive ones', async () => {
    const gate = new Gate();
    const { app } = buildEdge(gate.addRoutes, { config });
    const port = await listen(app);
    const idle = await RawClient.open(port);
    idle.send(requestText('GET /quick'));
    await idle.see(/quick/);
    const busy = await RawClient.open(port);
    busy.send(requestText('GET /slow'));
    await gate.entered;

    let closed = false;
    const closing = app.close().then(() => {
      closed = true;
    });
    await idle.ended();
    await expect(RawClient.open(port)).rejects.toThrow('ECONNREFUSED');
    expect(closed).toBe(false);

    gate.open();
    expect(await busy.ended()).toMatch(/\{"data":"done"\}$/);
    await closing;
  });

  test('cuts off requests that are not done in time', async () => {
    const gate = new Gate();
    const { app } = buildEdge(gate.addRoutes, { config: { ...config, DRAIN_TIMEOUT_MS: 20 } });
    const client = await RawClient.open(await listen(app));
    client.send(requestText('GET /slow'));
    await gate.entered;
    await app.close();
    expect(await client.ended()).toBe('');
  });

  test('a request on a connection that is still open is answered while the others finish', async () => {
    const gate = new Gate();
    const { app } = buildEdge(gate.addRoutes, { config });
    const client = await RawClient.open(await listen(app));
    client.send(requestText('GET /slow'));
    client.send(requestText('GET /readyz'));
    await gate.entered;
    const closing = app.close();
    gate.open();
    await client.ended();
    expect(client.received).toMatch(/\{"data":"done"\}/);
    await closing;
  });
});

test('a connection beyond the maximum is closed, unless an idle one can make room', async () => {
  const gate = new Gate();
  const { app } = buildEdge(gate.addRoutes, { config: { ...config, CONNECTIONS_MAX: 1 } });
  const port = await listen(app);
  const idle = await RawClient.open(port);
  idle.send(requestText('GET /quick'));
  await idle.see(/quick/);
  const busy = await RawClient.open(port);
  busy.send(requestText('GET /slow'));
  expect(await idle.ended()).toMatch(/quick/);
  await gate.entered;
  expect(await (await RawClient.open(port)).ended()).toBe('');
  gate.open();
  await busy.see(/done/);
});

test('one address has no more connections than it may', async () => {
  const gate = new Gate();
  const { app } = buildEdge(gate.addRoutes, { config: { ...config, CONNECTIONS_PER_ADDRESS_MAX: 1 } });
  const port = await listen(app);
  const busy = await RawClient.open(port);
  busy.send(requestText('GET /slow'));
  await gate.entered;
  expect(await (await RawClient.open(port)).ended()).toBe('');
  gate.open();
  await busy.see(/done/);
});

test('a request that is sent early waits for the previous answer, and too many of them end the connection', async () => {
  const gate = new Gate();
  let quick = 0;
  const { app } = buildEdge((edge) => {
    gate.addRoutes(edge);
    edge.get('/counted', () => ({ data: (quick += 1) }));
  });
  const port = await listen(app);
  const client = await RawClient.open(port);
  client.send(requestText('GET /slow') + requestText('GET /counted') + requestText('GET /counted'));
  await gate.entered;
  expect(quick).toBe(0);
  gate.open();
  await client.see(/done[^]*"data":1[^]*"data":2/);
  const greedy = await RawClient.open(port);
  greedy.send(requestText('GET /counted').repeat(500));
  await greedy.ended();
  expect(quick).toBeLessThan(400);
});

test('a request after an answer that ends the connection is not handled, because nobody could get its answer', async () => {
  const handled: string[] = [];
  const { app } = buildEdge((edge) => {
    edge.get('/last', (_request, reply) => reply.header('connection', 'close').send({ data: 'last' }));
    edge.get('/after', () => ({ data: handled.push('after') }));
  });
  const client = await RawClient.open(await listen(app));
  client.send(requestText('GET /last') + requestText('GET /after'));
  expect(await client.ended()).toMatch(/last"\}$/);
  expect(handled).toEqual([]);
});
