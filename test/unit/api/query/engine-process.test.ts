/** How a query process starts (src/api/query/engine-process.ts). */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { EngineProcess } from '../../../../src/api/query/engine-process.ts';
import { findQueryProcess } from '../../../support/query-processes.ts';

test('a process starts with the priority of the service, so queries wait for it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'engine-process-'));
  // A Postgres that does not answer, so that the process stays where it is.
  const postgres = createServer();
  postgres.listen(0, '127.0.0.1');
  await once(postgres, 'listening');
  try {
    const launched = EngineProcess.launch({
      kind: 'sql',
      host: '127.0.0.1',
      port: 0,
      databaseUrl: `postgres://nobody@127.0.0.1:${(postgres.address() as AddressInfo).port}/none`,
      schema: 'none',
      folder,
      memoryBytesMax: 2 ** 27,
      diskBytesMax: 2 ** 27,
      diskFreeMin: 0,
      threads: 1,
      niceness: 15,
      timeoutMs: 1000,
      hasOwnRole: false,
      logger: pino({ enabled: false }),
      onMessage: () => undefined,
      onExit: () => undefined,
    });
    const ended = expect(launched).rejects.toThrow('the query process ended while it was starting');
    const [asked] = (await once(postgres, 'connection')) as [Socket];
    asked.on('error', () => undefined);
    const id = (await findQueryProcess(process.pid, 'sql'))!;
    expect(getPriority(id)).toBe(getPriority());
    process.kill(id, 'SIGKILL');
    await ended;
    asked.destroy();
  } finally {
    postgres.close();
    await rm(folder, { recursive: true, force: true });
  }
});
