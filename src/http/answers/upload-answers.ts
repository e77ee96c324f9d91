/** What requests that concern uploads are answered: at once, and later as the results of their jobs. */
import type { FastifyRequest } from 'fastify';
import type { UploadResult } from '../../events/outcome.ts';
import { filePath } from '../../files/file-name.ts';
import type { FileStore } from '../../files/file-store.ts';

export interface UploadAnswersOptions {
  readonly files: FileStore;
  /** The address under which clients reach the service; undefined: where each of them does. */
  readonly publicUrl: string | undefined;
}

export class UploadAnswers {
  readonly #options: UploadAnswersOptions;

  constructor(options: UploadAnswersOptions) {
    this.#options = options;
  }

  /** The `data` of the answer (spec 4.8 and 4.9): where to send the bytes, or, once it is completed, where the file is. */
  async dataOf(upload: UploadResult, request: FastifyRequest): Promise<object> {
    const { id, contentType, fileName, sizeMax, expiresAt, file } = upload;
    const base = this.#options.publicUrl?.replace(/\/+$/, '') ?? originOf(request);
    if (file !== null) return { url: `${base}${filePath(file, fileName)}` };
    const uploadLocation = await this.#options.files.locate({ uploadId: id, contentType, sizeMax, expiresAt }, base);
    return { uploadID: id, uploadLocation };
  }
}

/** Where the client has reached this service, as it says itself; only its own answers depend on it. */
function originOf({ host, raw }: FastifyRequest): string {
  const named = `http://${host}`;
  if (URL.canParse(named)) return new URL(named).origin;
  const { localAddress, localFamily, localPort } = raw.socket;
  return `http://${localFamily === 'IPv6' ? `[${localAddress}]` : localAddress}:${localPort}`;
}
