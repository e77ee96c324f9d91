/**
 * Spec section 3, decisions 3, with the bytes in an S3: how long uploads and their files are there, and what becomes of
 * their bytes.
 */
import { afterAll, beforeAll, expect } from '@jest/globals';
import { readConfig } from '../../src/app/config.ts';
import type { FileStore } from '../../src/storage/files/file-store.ts';
import { openFileStore } from '../../src/storage/files/open-file-store.ts';
import { useOwnApi } from '../support/api.ts';
import { newUpload } from '../support/file-store.ts';
import { useOperator } from '../support/operator.ts';
import { startS3, type S3Server } from '../support/s3/seaweedfs.ts';
import { describeUploadLife } from '../support/upload-life-cases.ts';
import { lifeSettings, UploadLife } from '../support/upload-life.ts';
import { picture, sendBytes } from '../support/uploads.ts';

let s3: S3Server;
let life: UploadLife;
let others = 0;

beforeAll(async () => {
  s3 = await startS3();
});

const { api, client } = useOwnApi(() => ({ ...lifeSettings, ...s3.settings }));
const operator = useOperator({ api });

function open(changes: Readonly<Record<string, string>> = {}): Promise<FileStore> {
  return openFileStore(readConfig({ ...s3.settings, ...changes }), operator().keys);
}

beforeAll(async () => {
  life = new UploadLife(api(), operator(), await open());
});

afterAll(async () => {
  await life?.close();
  await s3?.remove();
});

describeUploadLife(
  {
    api,
    client,
    operator,
    life: () => life,
    leave: async (store, uploadId, bytes) => {
      const location = await store.locate(newUpload({ uploadId, contentType: picture.contentType }), api().url);
      expect(await sendBytes({ location }, bytes)).toBe('200');
    },
    openOther: () => {
      others += 1;
      return open({ FILES_S3_PREFIX: `other-${others}/` });
    },
  },
  { late: '403' },
);
