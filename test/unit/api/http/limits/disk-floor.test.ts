import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readConfig } from '../../../../../src/app/config.ts';
import { DiskFloor, foldersToWatch, type WatchedFolder } from '../../../../../src/api/http/limits/disk-floor.ts';
import type { Operation } from '../../../../../src/api/http/openapi/operation.ts';
import { authorization, buildEdge } from '../server/edge-app.ts';

const postgres = 'postgres://db/tablog';

test.each<[Record<string, string>, ReturnType<typeof foldersToWatch>]>([
  [
    {},
    [
      { name: 'postgres', path: './data' },
      { name: 'files', path: 'data/files' },
    ],
  ],
  [
    { DATA_DIR: '/d', FILES_DIR: '/f' },
    [
      { name: 'postgres', path: '/d' },
      { name: 'files', path: '/f' },
    ],
  ],
  [{ DATA_DIR: '/d', FILES_S3_BUCKET: 'files' }, [{ name: 'postgres', path: '/d' }]],
  [
    { DATABASE_URL: postgres, DATA_DIR: '/d' },
    [
      { name: 'spool', path: '/d' },
      { name: 'files', path: '/d/files' },
    ],
  ],
  [{ DATABASE_URL: postgres, FILES_S3_BUCKET: 'files' }, [{ name: 'spool', path: './data' }]],
])('with %j these folders are watched', (environment, folders) => {
  expect(foldersToWatch(readConfig(environment))).toEqual(folders);
});

test('simultaneous requests measure the disk once, and a missing folder refuses nothing', async () => {
  const folders = [
    { name: 'postgres', path: import.meta.dirname },
    { name: 'files', path: '/nowhere' },
  ] as const;
  const floor = new DiskFloor({ folders, freeMin: 1, logger: pino({ level: 'silent' }) });
  const [first, second] = [floor.free(), floor.free()];
  expect(second).toBe(first);
  expect([...(await first).keys()]).toEqual(['postgres']);
  await floor.require();
});

test('folders on one device count as one disk with its free space above a quarter of the floor', async () => {
  const folders = [
    { name: 'postgres', path: import.meta.dirname },
    { name: 'files', path: import.meta.dirname },
  ] as const;
  const opened = (freeMin: number, watched: readonly WatchedFolder[] = folders): DiskFloor =>
    new DiskFloor({ folders: watched, freeMin, logger: pino({ level: 'silent' }) });
  const both = { hasTables: true, hasFiles: true };
  expect(await takenRooms(opened(0))).toMatchObject([{ ...both, taken: 0 }]);
  expect(await takenRooms(opened(4_000_000))).toMatchObject([{ ...both, taken: 1_000_000 }]);
  const apart = await takenRooms(
    opened(4, [folders[0], { name: 'files', path: '/proc' }, { name: 'spool', path: '/nowhere' }]),
  );
  expect(apart).toMatchObject([
    { hasTables: true, hasFiles: false, taken: 1 },
    { hasTables: false, hasFiles: true, left: 0 },
  ]);
});

/**
 * The rooms of a floor, with how many free bytes of the disk of tables they leave out. Others write to that disk: asks
 * until it had as much free before as after.
 */
async function takenRooms(floor: DiskFloor): Promise<object[]> {
  const free = async (): Promise<number> => (await floor.free()).get('postgres')!;
  for (;;) {
    const before = await free();
    const rooms = await floor.rooms();
    if (before === (await free())) return rooms.map((room) => ({ ...room, taken: before - room.left }));
  }
}

/** The file system of /proc never has anything free. */
test.each<[WatchedFolder['name'], number, number]>([
  // A quarter of 3 bytes is no byte.
  ['postgres', 4, 503],
  ['postgres', 3, 200],
  ['files', 4, 200],
  ['spool', 4, 200],
])(
  'with nothing free on the disk of %s and a floor of %d bytes, a small write is %d',
  async (name, freeMin, status) => {
    const write: Operation = { operationId: 'write', tag: 'Rows', summary: '', description: '', answers: {} };
    const floor = new DiskFloor({ folders: [{ name, path: '/proc' }], freeMin, logger: pino({ level: 'silent' }) });
    const { app } = buildEdge((edge) => {
      floor.addTo(edge);
      edge.post('/write', { config: { operation: write } }, () => ({ data: 'ok' }));
      edge.delete('/write', { config: { operation: write } }, () => ({ data: 'ok' }));
      edge.post('/query', { config: { operation: { ...write, isCommand: false } } }, () => ({ data: 'ok' }));
      edge.get('/read', () => ({ data: 'ok' }));
    });
    const statusOf = async (method: 'GET' | 'POST' | 'DELETE', url: string): Promise<number> =>
      (await app.inject({ method, url, headers: { authorization } })).statusCode;
    expect(await statusOf('POST', '/write')).toBe(status);
    expect(
      await Promise.all([
        statusOf('DELETE', '/write'),
        statusOf('POST', '/query'),
        statusOf('GET', '/read'),
        statusOf('POST', '/nowhere'),
      ]),
    ).toEqual([200, 200, 200, 404]);
  },
);
