/** Formats the results of upload requests, for their answers and for their jobs. */
import type { FastifyRequest } from 'fastify';
import type { UploadResult } from '../../../language/events/outcome.ts';
import { filePath } from '../../../storage/files/file-name.ts';
import type { FileStore } from '../../../storage/files/file-store.ts';
import { withoutSlash, type FilesOrigin } from '../requests/files-origin.ts';

interface UploadAnswersOptions {
  readonly files: FileStore;
  /** The address under which clients reach the service. Undefined: the address that each client used. */
  readonly publicUrl: string | undefined;
  /** Null: files are under the address of the service too. */
  readonly filesOrigin: FilesOrigin | null;
}

export class UploadAnswers {
  readonly #options: UploadAnswersOptions;

  constructor(options: UploadAnswersOptions) {
    this.#options = options;
  }

  /**
   * The `data` of the answer (spec 4.8 and 4.9): the URL to send the bytes to or, once the upload is completed, the URL
   * of the file.
   */
  async dataOf(upload: UploadResult, request: FastifyRequest): Promise<object> {
    const { id, contentType, fileName, sizeMax, expiresAt, file } = upload;
    if (file !== null) return { url: this.urlOf(file, fileName, request) };
    const uploadLocation = await this.#options.files.locate(
      { uploadId: id, contentType, sizeMax, expiresAt },
      this.#baseFor(request),
    );
    return { uploadID: id, uploadLocation };
  }

  /** The public URL of a file. */
  urlOf(file: string, fileName: string, request: FastifyRequest): string {
    return `${this.#options.filesOrigin?.base ?? this.#baseFor(request)}${filePath(file, fileName)}`;
  }

  #baseFor(request: FastifyRequest): string {
    const { publicUrl } = this.#options;
    return publicUrl === undefined ? originOf(request) : withoutSlash(publicUrl);
  }
}

/**
 * The origin under which the client reached this service, from its Host header. Only its own answers depend on it.
 * `X-Forwarded-Host` has no effect.
 */
function originOf({ raw }: FastifyRequest): string {
  const named = `http://${raw.headers.host ?? ''}`;
  if (URL.canParse(named)) return new URL(named).origin;
  const { localAddress, localFamily, localPort } = raw.socket;
  return `http://${localFamily === 'IPv6' ? `[${localAddress}]` : localAddress}:${localPort}`;
}
