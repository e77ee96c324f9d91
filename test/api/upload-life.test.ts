/** Spec section 3, decisions 3: how long uploads and their files are there, and what becomes of their bytes. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LocalFileStore } from '../../src/storage/files/local-file-store.ts';
import { useOwnApi } from '../support/api.ts';
import { useOperator } from '../support/operator.ts';
import { describeUploadLife } from '../support/upload-life-cases.ts';
import { lifeSettings, UploadLife } from '../support/upload-life.ts';

const { api, client } = useOwnApi(lifeSettings);
const operator = useOperator({ api });
let life: UploadLife;

function openIn(folder: string): Promise<LocalFileStore> {
  return LocalFileStore.open({ folder, keys: operator().keys, publicUrl: null });
}

beforeAll(async () => {
  life = new UploadLife(api(), operator(), await openIn(api().filesFolder));
});

afterAll(async () => {
  await life?.close();
});

describeUploadLife(
  {
    api,
    client,
    operator,
    life: () => life,
    leave: (store, uploadId, bytes) =>
      (store as LocalFileStore).receive(
        uploadId,
        (async function* () {
          yield bytes;
        })(),
        bytes.length,
      ),
    // Beside the files of the service, and removed with them.
    openOther: async () => openIn(await mkdtemp(join(api().filesFolder, 'other-'))),
  },
  { late: '403 forbidden' },
);

test('the rest of an interrupted write is removed once it is old', async () => {
  const temporary = randomUUID();
  await writeFile(join(api().filesFolder, 'temporary', temporary), 'cut');
  await life.removeOrphans({});
  expect(await life.stored()).toContain(temporary);
  await life.removeOrphans({ orphanAge: -60_000 });
  expect(await life.stored()).not.toContain(temporary);
});
