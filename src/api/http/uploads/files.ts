/**
 * `GET /files/{fileID}/{fileName}`: the public URLs of files. An uploaded file can run no script in the origin of this
 * service, whatever it contains: it is sent with its declared type, `nosniff` and a sandbox, and shown inline only if
 * its type has no scripts. With `FILES_URL` it has an origin of its own.
 */
import { create as contentDisposition } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { filePath, isFileName } from '../../../storage/files/file-name.ts';
import { readBytes, type FileStore } from '../../../storage/files/file-store.ts';
import type { PublicFile, UploadQueries } from '../../../../projections/uploads/uploads.queries.ts';
import type { App } from '../server/app-type.ts';
import type { Contents, Operation } from '../openapi/operation.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { replyMissing } from '../answers/missing.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import type { Shares } from '../limits/shares.ts';
import type { FilesOrigin } from '../requests/files-origin.ts';
import { readIfRange, readKnownTags } from '../requests/versions.ts';

const path = z.object({
  fileID: z.string().meta({ description: 'The random name of a file.', examples: ['mV0aZ3lqT1uHq5o2bR8x6w'] }),
  fileName: z.string().meta({ description: 'The name under which browsers save the file.', examples: ['photo.png'] }),
});

export const anyBytes: Contents = {
  '*/*': { schema: z.string().meta({ format: 'binary' }), examples: { text: 'Hello.' } },
};

const fileHeaders = [
  'File-ETag',
  'File-Cache-Control',
  'Content-Disposition',
  'Accept-Ranges',
  'X-Content-Type-Options',
  'Content-Security-Policy',
] as const;

const operation: Operation = {
  operationId: 'getFile',
  tag: 'Uploads',
  summary: 'Get a file',
  description:
    'The public URL of a completed upload. Its bytes never change, but the file may be withdrawn. Caches ask again after an hour, unless the service is ' +
    'set otherwise. Browsers show pictures, sounds, videos and plain text, and save everything else. The service does not serve files of a suspended team.',
  answers: {
    200: { description: 'The file.', headers: fileHeaders, body: anyBytes },
    206: {
      description: 'The part of the file that `Range` asks for.',
      headers: ['Content-Range', ...fileHeaders],
      body: anyBytes,
    },
    304: { description: 'The client already has the file.', headers: fileHeaders },
    307: {
      description: 'Files of this service have an address of their own. `Location` is the URL of the file.',
      headers: ['File-Location'],
    },
  },
  errors: ['payment_required', 'not_found', 'range_not_satisfiable', 'rate_limited', 'service_unavailable'],
};

/** Media types that a browser shows without running anything. Files of other types are downloads. */
const shown: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/x-icon',
  'image/vnd.microsoft.icon',
  'audio/mpeg',
  'audio/mp4',
  'audio/aac',
  'audio/ogg',
  'audio/opus',
  'audio/wav',
  'audio/x-wav',
  'audio/flac',
  'audio/webm',
  'video/mp4',
  'video/webm',
  'video/ogg',
  'video/quicktime',
  'text/plain',
]);

/** Maximum of bytes of a file in memory while it is sent: one part that was read, and one that waits for the client. */
const sentBytesMax = 2 * readBytes;

interface FilesRouteDependencies {
  readonly shares: Pick<Shares, 'outgoingBytes'>;
  readonly uploads: UploadQueries;
  readonly files: FileStore;
  /** Null: files have no origin of their own. */
  readonly filesOrigin: FilesOrigin | null;
  /** How long caches may keep a file before they ask again, in seconds. */
  readonly filesCacheSeconds: number;
  /** Rejects while the read model has not caught up with its log. */
  readonly requireReadModel: () => Promise<void>;
}

export function addFileRoutes(app: App, dependencies: FilesRouteDependencies): void {
  const { uploads, filesOrigin, filesCacheSeconds, requireReadModel } = dependencies;
  app.route({
    method: ['GET', 'HEAD'],
    url: '/files/:fileID/:fileName',
    schema: { params: path },
    config: { public: true, operation },
    onRequest: () => requireReadModel(),
    handler: async (request, reply) => {
      const { fileID, fileName } = request.params as z.output<typeof path>;
      if (filesOrigin?.isMissedBy(request) === true)
        return reply.redirect(`${filesOrigin.base}${filePath(fileID, fileName)}`, 307);
      const hasTag = readKnownTags(request);
      const isOfPart = readIfRange(request);
      const file = isFileName(fileID) ? await uploads.file(fileID) : null;
      // The name is part of the URL: otherwise anyone could publish the file under a name of their choice.
      if (file?.fileName !== fileName) return replyNoFile(reply);
      if (file.isSuspended) return replyMissing(reply, 'payment_required');
      const etag = `"${file.name}"`;
      const headers = headersOf(file, etag, filesCacheSeconds);
      if (hasTag(etag)) return reply.headers(headers).code(304).send();
      return sendFile(request, reply, dependencies, {
        file,
        headers,
        mayBePart: request.method === 'GET' && isOfPart(etag),
      });
    },
  });
}

interface Sent {
  readonly file: PublicFile;
  readonly headers: Readonly<Record<string, string>>;
  readonly mayBePart: boolean;
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { shares, uploads, files }: FilesRouteDependencies,
  { file, headers, mayBePart }: Sent,
): Promise<FastifyReply> {
  const { teamId, name, size } = file;
  const range = mayBePart ? rangeOf(request.raw.headers.range, size) : null;
  if (range === 'unsatisfiable') {
    return replyWithError(reply, 'range_not_satisfiable', `The file has ${size} bytes.`, {
      'content-range': `bytes */${size}`,
    });
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  const length = end - start + 1;
  const isEmpty = request.method === 'HEAD' || size === 0;
  if (!isEmpty) await takeOutgoing(shares.outgoingBytes, teamId, Math.min(length, sentBytesMax), reply);
  const bytes = isEmpty ? undefined : await files.read(name, range ?? undefined);
  if (bytes === null) {
    // The file may have been withdrawn since it was found.
    if ((await uploads.file(name)) === null) return replyNoFile(reply);
    throw new Error(`the store has no file ${name}, which an upload says was completed`);
  }
  // Set the headers only now: with them, caches would keep an error as long as a file.
  void reply.headers(headers);
  if (range !== null) void reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`);
  return reply.header('content-length', String(length)).send(bytes);
}

function replyNoFile(reply: FastifyReply): FastifyReply {
  return replyWithError(reply, 'not_found', 'There is no such file.');
}

/** A single byte range of RFC 9110, section 14.1.1: `first-last`, `first-` or `-suffix length`. */
const oneRange = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/i;

/**
 * The range of a header (RFC 9110, section 14.2). Null for the whole file: a header that is malformed, has another unit
 * or has several ranges is ignored. So is a suffix of an empty file, which no `Content-Range` can express. The package
 * `range-parser` does not fit: it answers 416 to a malformed header, and to a suffix that is longer than the file,
 * which means the whole file.
 */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | 'unsatisfiable' | null {
  const [, first, last, suffix] = oneRange.exec(header ?? '') ?? [];
  if (suffix !== undefined) {
    if (Number(suffix) === 0) return 'unsatisfiable';
    return size === 0 ? null : { start: Math.max(0, size - Number(suffix)), end: size - 1 };
  }
  if (first === undefined || (last !== '' && Number(last) < Number(first))) return null;
  if (Number(first) >= size) return 'unsatisfiable';
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

function headersOf({ contentType, fileName }: PublicFile, etag: string, cacheSeconds: number): Record<string, string> {
  const [essence] = contentType.toLowerCase().split(/[ \t;]/, 1);
  return {
    'content-type': contentType,
    etag,
    'content-disposition': contentDisposition(fileName, { type: shown.has(essence!) ? 'inline' : 'attachment' }),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    // Pages on other hosts may embed the file. Its URL is for that.
    'cross-origin-resource-policy': 'cross-origin',
    'accept-ranges': 'bytes',
    // The bytes never change, but the file may be withdrawn, and its team suspended.
    'cache-control': `public, max-age=${cacheSeconds}`,
  };
}
