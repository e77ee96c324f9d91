import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, jest, test } from '@jest/globals';
import { Turns } from '../../../../../src/api/http/bodies/turns.ts';

test('turns are taken first come, first served, one in each turn of the event loop', async () => {
  const turns = new Turns();
  const order: string[] = [];
  const loop = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('loop');
    }
  };
  await Promise.all([
    ...['a', 'b', 'c'].map(async (name) => {
      await turns.take();
      order.push(name);
    }),
    loop(),
  ]);
  expect(order).toEqual(['a', 'loop', 'b', 'loop', 'c', 'loop']);
  await turns.take();
});

test('sockets are read between two turns', async () => {
  const turns = new Turns();
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  let taken = 0;
  let isDone = false;
  const working = Array.from({ length: 8 }, async () => {
    while (!isDone) {
      await turns.take();
      taken += 1;
    }
  });
  socket.write('ping');
  await once(socket, 'data');
  const takenBefore = taken;
  isDone = true;
  await Promise.all(working);
  socket.destroy();
  server.close();
  await once(server, 'close');
  expect(takenBefore).toBeGreaterThan(0);
});

test('a pause follows each step while small requests arrive, and none otherwise', async () => {
  const turns = new Turns();
  const stepMs = 2;
  const timeOfSteps = async (steps: number): Promise<number> => {
    const began = performance.now();
    for (let step = 0; step < steps; step += 1) {
      await turns.take();
      const end = performance.now() + stepMs;
      while (performance.now() < end);
    }
    await turns.take();
    return performance.now() - began;
  };
  const timers = jest.spyOn(globalThis, 'setTimeout');
  try {
    await timeOfSteps(10);
    expect(timers).not.toHaveBeenCalled();
    turns.giveWay();
    // Timers are never early: six times what a step took, in whole milliseconds.
    expect(await timeOfSteps(10)).toBeGreaterThanOrEqual(10 * (stepMs + 5));
    expect(timers).toHaveBeenCalled();
  } finally {
    timers.mockRestore();
  }
});
