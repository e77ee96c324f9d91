import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { patchKafkajs, UnsupportedKafkajs, type LoadModule } from '../../../../src/log/kafka/kafkajs-internals.ts';

const requestQueue = 'kafkajs/src/network/requestQueue';

/** A request queue that counts how often it looks for pending requests. */
class RequestQueue {
  pending: unknown[] = [];
  looks = 0;
  scheduleCheckPendingRequests(): void {
    this.looks += 1;
  }
}

const connectionPath = 'kafkajs/src/network/connection';

/** A connection that counts its sockets, and fails where it is told to. */
class Connection {
  sockets = 0;
  async connect(): Promise<boolean> {
    this.sockets += 1;
    await new Promise((resolve) => setImmediate(resolve));
    if (this.sockets === 2) throw new Error('no broker');
    return true;
  }
}

const brokerPoolPath = 'kafkajs/src/cluster/brokerPool';

/** A pool of two brokers, which counts how often each is disconnected. */
class BrokerPool {
  readonly disconnected: string[] = [];
  brokers: Record<string, { disconnect(): Promise<void> }> = Object.fromEntries(
    ['1', '2'].map((id) => [
      id,
      {
        disconnect: async () => {
          this.disconnected.push(id);
          throw new Error('the connection is broken already');
        },
      },
    ]),
  );
  seedBroker = this.brokers['1'];
  removeBroker({ port }: { port: number }): void {
    if (this.seedBroker === this.brokers[port])
      this.seedBroker = Object.values(this.brokers).find((broker) => broker !== this.brokers[port]);
    delete this.brokers[port];
  }
}

/** The installed kafkajs, in which the queue, the connection and the pool are fakes, and so is what `changes` holds. */
function loading(changes: Readonly<Record<string, unknown>> = {}): LoadModule {
  const modules: Readonly<Record<string, unknown>> = {
    [requestQueue]: class extends RequestQueue {},
    [connectionPath]: class extends Connection {},
    [brokerPoolPath]: class extends BrokerPool {},
    ...changes,
  };
  return (path) => {
    if (modules[path] instanceof Error) throw modules[path];
    return modules[path] ?? createRequire(import.meta.url)(path);
  };
}

/** The line that a start with such a kafkajs ends with. */
function problemOf(load: LoadModule): string {
  try {
    patchKafkajs(load);
  } catch (error) {
    expect(error).toBeInstanceOf(UnsupportedKafkajs);
    return (error as Error).message;
  }
  throw new Error('it was taken for the supported one');
}

describe('the kafkajs that is installed', () => {
  test('has the internals that the service uses, and accepts the patch', () => {
    const load = createRequire(import.meta.url);
    const [queue, connection, pool] = [requestQueue, connectionPath, brokerPoolPath].map(
      (path) => load(path).prototype,
    );
    const { scheduleCheckPendingRequests } = queue;
    const { connect } = connection;
    const { removeBroker } = pool;
    try {
      patchKafkajs(load);
      expect(queue.scheduleCheckPendingRequests).not.toBe(scheduleCheckPendingRequests);
      expect(connection.connect).not.toBe(connect);
      expect(pool.removeBroker).not.toBe(removeBroker);
    } finally {
      queue.scheduleCheckPendingRequests = scheduleCheckPendingRequests;
      connection.connect = connect;
      pool.removeBroker = removeBroker;
    }
  });

  test('looks for pending requests only while there are any', () => {
    const load = loading();
    patchKafkajs(load);
    const queue = new (load(requestQueue) as typeof RequestQueue)();
    queue.scheduleCheckPendingRequests();
    expect(queue.looks).toBe(0);
    queue.pending.push({});
    queue.scheduleCheckPendingRequests();
    expect(queue.looks).toBe(1);
  });

  test('opens one socket for all simultaneous requests for a connection, and a new one after that failed', async () => {
    const load = loading();
    patchKafkajs(load);
    const connection = new (load(connectionPath) as typeof Connection)();
    expect(await Promise.all([connection.connect(), connection.connect()])).toEqual([true, true]);
    expect(connection.sockets).toBe(1);
    const failed = await Promise.allSettled([connection.connect(), connection.connect()]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await connection.connect()).toBe(true);
    expect(connection.sockets).toBe(3);
  });

  test('disconnects a broker that is removed, and no other', () => {
    const load = loading();
    patchKafkajs(load);
    const pool = new (load(brokerPoolPath) as typeof BrokerPool)();
    pool.removeBroker({ port: 3 });
    expect(pool.disconnected).toEqual([]);
    pool.removeBroker({ port: 2 });
    expect(pool.disconnected).toEqual(['2']);
  });

  test('always has a broker to ask first, even if it is the one that was removed last', () => {
    const load = loading();
    patchKafkajs(load);
    const pool = new (load(brokerPoolPath) as typeof BrokerPool)();
    const [first, second] = Object.values(pool.brokers);
    expect(pool.seedBroker).toBe(first);
    pool.removeBroker({ port: 1 });
    expect(pool.seedBroker).toBe(second);
    pool.removeBroker({ port: 2 });
    expect(pool.seedBroker).toBe(second);
  });
});

describe('another kafkajs is refused in one line', () => {
  const needed = 'kafkajs 2.2.4 is needed, because its internals are used:';

  test.each<[string, Record<string, unknown>, string]>([
    ['of another version', { 'kafkajs/package.json': { version: '2.3.0' } }, '2.3.0 is installed. Run `npm ci`.'],
    [
      'that hides its version',
      { 'kafkajs/package.json': new Error('not exported') },
      'an unknown version is installed. Run `npm ci`.',
    ],
    [
      'that hides its modules',
      { 'kafkajs/src/broker': new Error('not exported') },
      '2.2.4 is installed and lacks kafkajs/src/broker#fetch, kafkajs/src/broker#isConnected, kafkajs/src/broker#metadata, kafkajs/src/broker#produce. Run `npm ci`.',
    ],
    [
      'whose module exports something else',
      { 'kafkajs/src/broker': {} },
      '2.2.4 is installed and lacks kafkajs/src/broker#fetch, kafkajs/src/broker#isConnected, kafkajs/src/broker#metadata, kafkajs/src/broker#produce. Run `npm ci`.',
    ],
    [
      'without what is patched',
      {
        [requestQueue]: class {
          readonly pending = [];
        },
      },
      `2.2.4 is installed and lacks ${requestQueue}#scheduleCheckPendingRequests. Run \`npm ci\`.`,
    ],
    [
      'whose queue has no list of what is pending',
      {
        [requestQueue]: class {
          scheduleCheckPendingRequests(): void {
            throw new Error('unused');
          }
        },
      },
      `2.2.4 is installed and lacks ${requestQueue}#pending. Run \`npm ci\`.`,
    ],
    [
      'of another version, without a method',
      {
        'kafkajs/package.json': { version: '3.0.0' },
        'kafkajs/src/broker': class {
          fetch(): void {
            throw new Error('unused');
          }
        },
      },
      '3.0.0 is installed and lacks kafkajs/src/broker#isConnected, kafkajs/src/broker#metadata, kafkajs/src/broker#produce. Run `npm ci`.',
    ],
  ])('a kafkajs %s is refused in one line', (_name, changes, problem) => {
    expect(problemOf(loading(changes))).toBe(`${needed} ${problem}`);
  });

  test('nothing is patched in that case', () => {
    const load = loading({ 'kafkajs/package.json': { version: '2.3.0' } });
    const { prototype } = load(requestQueue) as typeof RequestQueue;
    const original = prototype.scheduleCheckPendingRequests;
    problemOf(load);
    expect(prototype.scheduleCheckPendingRequests).toBe(original);
  });
});
