/** Uploads files and returns their public URLs. */
import { newKey } from './headers.ts';
import type { Transport } from './transport.ts';

/**
 * The bytes of a file. A stream is read into memory first, because neither browsers nor S3 accept a file of unknown
 * length.
 */
export type FileSource = Blob | ReadableStream<Uint8Array> | Uint8Array;

export interface UploadOptions {
  /** The name under which browsers save the file, without a path. */
  readonly fileName: string;
  /** Its media type, such as `image/png`. */
  readonly contentType: string;
  readonly signal?: AbortSignal;
}

export interface UploadedFile {
  /** The ID of the upload. */
  readonly id: string;
  /** The public URL of the file, which a row can hold. */
  readonly url: string;
}

/** Maximum time for giving up a failed upload, in milliseconds. */
const deleteMs = 5000;

/**
 * Creates an upload, sends the file, and completes the upload. If that fails, gives the upload up. Throws TablogError
 * and Unreachable.
 */
export async function uploadFile(
  { operations, lasting, putSigned }: Transport,
  appID: string,
  file: FileSource,
  options: UploadOptions,
): Promise<UploadedFile> {
  const { fileName, contentType, signal = null } = options;
  const bytes = file instanceof ReadableStream ? await new Response(file).blob() : file;
  const { data: created } = await operations.POST('/apps/{appID}/uploads', {
    params: { path: { appID }, header: newKey() },
    body: { fileName, contentType },
    signal,
  });
  const { uploadID, uploadLocation } = created!.data;
  const path = { appID, uploadID };
  try {
    await putSigned(uploadLocation, bytes as Blob | Uint8Array<ArrayBuffer>, contentType, signal);
    const { data: completed } = await operations.POST('/apps/{appID}/uploads/{uploadID}/complete', {
      params: { path, header: newKey() },
      signal,
    });
    return { id: uploadID, url: completed!.data.url };
  } catch (error) {
    // Report the failure of the upload. If it cannot be given up, it expires in a day.
    await lasting
      .DELETE('/apps/{appID}/uploads/{uploadID}', { params: { path }, signal: AbortSignal.timeout(deleteMs) })
      .catch(() => undefined);
    throw error;
  }
}
