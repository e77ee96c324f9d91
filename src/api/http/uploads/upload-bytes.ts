/**
 * `PUT /uploads/{uploadID}`: receives the bytes of an upload at its signed URL, if this service stores files itself
 * (spec 4.8).
 */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { uploadPath } from '../../../../commands/complete-upload.ts';
import type { SecretKeys } from '../../../storage/security/secret-keys.ts';
import type { ExpectedUpload } from '../../../storage/files/file-store.ts';
import { UploadTooLarge, type LocalFileStore } from '../../../storage/files/local-file-store.ts';
import { verifyUploadUrl } from '../../../storage/security/upload-signature.ts';
import type { EventLog } from '../../../log/event-log.ts';
import type { UploadQueries, UploadState } from '../../../../projections/uploads/uploads.queries.ts';
import type { App } from '../server/app-type.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import type { LogBytes } from '../../usage/log-bytes.ts';
import type { Operation } from '../openapi/operation.ts';
import { anyBytes } from './files.ts';
import { uploadNotFound } from './upload.ts';
import { HttpError } from '../answers/http-error.ts';
import type { AddressLimit } from '../limits/address-limit.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Shares } from '../limits/shares.ts';
import { normalMediaType } from '../bodies/media-type.ts';
import { bodyChunks } from '../bodies/request-body.ts';

const operation: Operation = {
  operationId: 'putUploadBytes',
  tag: 'Uploads',
  summary: 'Send the bytes of a file',
  description:
    'Sends the bytes to the URL from the creation of the upload, which is signed and needs no token. They may be sent again until the upload is completed: the last ' +
    'complete ones count. The service reads two requests at once for an upload; a third one waits a while, and is then refused. If the service keeps files in S3, the URL points to S3 instead.',
  isCommand: false,
  isBodyKept: true,
  body: anyBytes,
  answers: { 200: { description: 'The bytes have arrived.' } },
  errors: [
    'limit_exceeded',
    'forbidden',
    'upload_not_found',
    'upload_completed',
    'payload_too_large',
    'rate_limited',
    'service_unavailable',
  ],
};

interface UploadBytesDependencies {
  readonly store: LocalFileStore;
  readonly keys: SecretKeys;
  readonly log: Pick<EventLog, 'now'>;
  readonly uploads: UploadQueries;
  readonly shares: Pick<Shares, 'signedPuts'>;
  /** Limits requests to URLs that this service has not signed; null: there is no limit. */
  readonly addressLimit: AddressLimit | null;
  /** Limits the bytes that arrive for a team; null: there are no limits. */
  readonly rateLimits: RateLimits | null;
  /** Counts the bytes that teams take on disks in a day. */
  readonly logBytes: Pick<LogBytes, 'refusalOfShare' | 'add'>;
  /** Called when a team has no share of the disk left. */
  readonly onRefused: (refusal: Refusal) => void;
  /** Rejects while the read model has not caught up with its log. */
  readonly requireReadModel: () => Promise<void>;
}

const path = uploadPath.pick({ uploadID: true });
/** All optional: the signature covers the parameters, so it also refuses a missing, changed or added one. */
const query = z.looseObject({
  contentType: z.string().optional(),
  sizeMax: z.string().optional(),
  expiresAt: z.string().optional(),
  keyID: z.string().optional(),
  signature: z.string().optional(),
});

export function addUploadBytesRoute(app: App, dependencies: UploadBytesDependencies): void {
  app.put(
    '/uploads/:uploadID',
    {
      schema: { params: path, querystring: query },
      config: { public: true, operation, storesBytes: true },
      onRequest: () => dependencies.requireReadModel(),
    },
    async (request, reply) => {
      const { store, keys, log, uploads, shares, addressLimit, rateLimits, logBytes, onRefused } = dependencies;
      const expected = verifyUploadUrl(keys, request.params.uploadID, request.query);
      if (expected === null) {
        const refusal = new HttpError('forbidden', 'This service did not make the URL, or the URL was changed.');
        throw addressLimit === null ? refusal : await addressLimit.refuse(request, refusal);
      }
      const { uploadId, contentType, expiresAt } = expected;
      if (log.now() >= expiresAt) throw new HttpError('forbidden', 'The URL has expired: create another upload.');
      requireWholeFile(request.raw.headers, contentType);
      await shares.signedPuts.run(uploadId, async () => {
        const upload = await findOpen(uploads, uploadId);
        if (upload.file !== null)
          throw new HttpError(
            'upload_completed',
            'The upload is complete already. For another file, create another upload.',
          );
        const refusal = logBytes.refusalOfShare(upload.teamId, 'files');
        if (refusal !== null) {
          onRefused(refusal);
          throw new HttpError(refusal.type, refusal.message);
        }
        rateLimits?.countBody(upload.teamId, request);
        logBytes.add(upload.teamId, { files: await receive(store, request, expected) });
        // If the upload was given up meanwhile, nothing else would remove the bytes for a day.
        await findOpen(uploads, uploadId, () => store.remove({ kind: 'arrived', uploadId }));
      });
      return reply.send();
    },
  );
}

/** The upload. If it does not exist or was given up, cleans up and throws HttpError `upload_not_found`. */
async function findOpen(
  uploads: UploadQueries,
  uploadId: string,
  cleanUp: () => Promise<void> = async () => undefined,
): Promise<UploadState> {
  const upload = await uploads.upload(uploadId);
  if (upload !== null && !upload.isRemoved) return upload;
  await cleanUp();
  throw uploadNotFound();
}

/**
 * Resolves with the size of the file. Throws HttpError `payload_too_large`, and as `bodyChunks` does; then nothing of
 * the body is kept.
 */
async function receive(
  store: LocalFileStore,
  request: FastifyRequest,
  { uploadId, sizeMax }: ExpectedUpload,
): Promise<number> {
  let size = 0;
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of bodyChunks(request, sizeMax)) {
      size += chunk.length;
      yield chunk;
    }
  };
  try {
    await store.receive(uploadId, counted(), sizeMax);
    return size;
  } catch (error) {
    if (error instanceof UploadTooLarge) throw new HttpError('payload_too_large', error.message, {}, { cause: error });
    throw error;
  }
}

/**
 * Throws unless the file comes whole, uncompressed, and with the media type of its creation: it is stored byte for
 * byte.
 */
function requireWholeFile(headers: Readonly<Record<string, string | string[] | undefined>>, contentType: string): void {
  const given = headers['content-type'];
  if (typeof given !== 'string' || normalMediaType(given) !== normalMediaType(contentType)) {
    throw new HttpError(
      'request_validation_error',
      `Content-Type: must be ${contentType}, as in the creation of the upload.`,
    );
  }
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    throw new HttpError('request_validation_error', 'Content-Encoding: send the file uncompressed.');
  }
  // A part would pass for the whole file (RFC 9110, 14.5).
  if (headers['content-range'] !== undefined)
    throw new HttpError('request_validation_error', 'Content-Range: send the whole file.');
}
