import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readConfig } from '../../../src/app/config.ts';
import { DiskFloor, foldersToWatch } from '../../../src/http/limits/disk-floor.ts';

const postgres = 'postgres://db/tablog';

test.each<[Record<string, string>, ReturnType<typeof foldersToWatch>]>([
  [{}, [{ name: 'postgres', path: './data' }, { name: 'files', path: 'data/files' }]],
  [{ DATA_DIR: '/d', FILES_DIR: '/f' }, [{ name: 'postgres', path: '/d' }, { name: 'files', path: '/f' }]],
  [{ DATA_DIR: '/d', FILES_S3_BUCKET: 'files' }, [{ name: 'postgres', path: '/d' }]],
  [{ DATABASE_URL: postgres, DATA_DIR: '/d' }, [{ name: 'spool', path: '/d' }, { name: 'files', path: '/d/files' }]],
  [{ DATABASE_URL: postgres, FILES_S3_BUCKET: 'files' }, [{ name: 'spool', path: './data' }]],
])('with %j these folders are watched', (environment, folders) => {
  expect(foldersToWatch(readConfig(environment))).toEqual(folders);
});

test('requests at the same time look once, and a folder that is gone stops nothing', async () => {
  const folders = [{ name: 'postgres', path: import.meta.dirname }, { name: 'files', path: '/nowhere' }] as const;
  const floor = new DiskFloor({ folders, freeMin: 1, logger: pino({ level: 'silent' }) });
  const [first, second] = [floor.free(), floor.free()];
  expect(second).toBe(first);
  expect([...(await first).keys()]).toEqual(['postgres']);
  await floor.require();
});
