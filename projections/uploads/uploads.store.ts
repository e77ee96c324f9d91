/** Reads and writes uploads. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { storedUploads } from './upload.entity.ts';
import type { Upload } from './upload.ts';

/** An upload as stored. */
type UploadRow = Omit<Upload, 'file'> & { readonly file: string | null; readonly size: number | null };

const selectUploads: Statement<UploadRow> = {
  name: 'select_uploads',
  text: `select ${storedUploads.columns()} from uploads where id = any($1::uuid[])`,
};

export async function findUploads(tx: Tx, ids: readonly string[]): Promise<Upload[]> {
  const { rows } = await tx.query(selectUploads, [ids]);
  return rows.map(({ size, ...upload }) => ({
    ...upload,
    file: upload.file === null ? null : { name: upload.file, size: size! },
  }));
}

export const upsertUploads = storedUploads.upsert('upsert_uploads', ['file', 'size', 'unclaimedSince', 'removedAt']);

export function uploadRow(upload: Upload): UploadRow {
  return { ...upload, file: upload.file?.name ?? null, size: upload.file?.size ?? null };
}
