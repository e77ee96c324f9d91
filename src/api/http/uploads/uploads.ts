/**
 * Spec 4.8 and 4.9: uploads, from their creation to the public URL of the file; their list, and the withdrawal of a
 * file, whose paths are ours, not the spec's.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { completeUpload, uploadPath, type UploadPath } from '../../../../commands/complete-upload.ts';
import { appPath, createUpload } from '../../../../commands/create-upload.ts';
import { deleteUpload } from '../../../../commands/delete-upload.ts';
import type { AuditLog } from '../../../administration/audit/audit-log.ts';
import type { StoredFile } from '../../../language/events/upload-events.ts';
import type { UploadLimits } from '../../../language/events/limits.ts';
import { newFileName } from '../../../storage/files/new-file-name.ts';
import { readMembers } from '../../../language/formats/read-members.ts';
import { isUploadId, type FileStore } from '../../../storage/files/file-store.ts';
import type { ListedUpload, UploadQueries, UploadState } from '../../../../projections/uploads/uploads.queries.ts';
import type { EventLog } from '../../../log/event-log.ts';
import type { App } from '../server/app-type.ts';
import { uploadOperations } from './uploads-operations.ts';
import type { Shares } from '../limits/shares.ts';
import { readPage } from '../answers/read-page.ts';
import { formatUploadsContinuation, parseUploadsContinuation } from '../requests/continuation.ts';
import { pageQuery } from '../requests/page-query.ts';
import { HttpError } from '../answers/http-error.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { collectBody } from '../bodies/request-body.ts';
import { identify, identifyWithBody } from '../submit/request-identity.ts';
import type { Submitter } from '../submit/submitter.ts';
import { turnedAwayOf } from '../submit/turned-away.ts';
import type { UploadAnswers } from './upload-answers.ts';
import { originOf } from '../requests/origin.ts';

export interface UploadsRouteDependencies {
  readonly submitter: Submitter;
  readonly uploads: UploadQueries;
  readonly files: FileStore;
  readonly uploadAnswers: UploadAnswers;
  readonly uploadLimits: UploadLimits;
  readonly audit: AuditLog;
  readonly log: Pick<EventLog, 'now'>;
  readonly shares: Pick<Shares, 'pages' | 'outgoingBytes'>;
}

/** Limit of the body of a creation: a media type, a file name, and further members from older clients. */
const bodyBytesMax = 64 * 1024;

/**
 * How many uploads a page has at most, and how many bytes of JSON one has at most: a name in a URL is long if it is
 * escaped.
 */
const pageUploadsMax = 1000;
const uploadBytesMax = 8 * 1024;

export function addUploadRoutes(app: App, dependencies: UploadsRouteDependencies): void {
  const { submitter, uploads, files, uploadAnswers, uploadLimits, audit, log, shares } = dependencies;
  app.get(
    '/uploads',
    {
      schema: { querystring: pageQuery('uploads', pageUploadsMax) },
      config: { operation: uploadOperations.list },
    },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const { limit, continuation } = request.query;
      const before = continuation === undefined ? null : parseUploadsContinuation(teamId, continuation);
      const { page: found, outgoing } = await readPage(shares, reply, limit * uploadBytesMax, () =>
        uploads.list(teamId, appId, before, limit + 1),
      );
      const page = found.slice(0, limit);
      const now = log.now();
      const body = JSON.stringify({
        data: page.map((upload) =>
          present(upload, now, (file, fileName) => uploadAnswers.urlOf(file, fileName, request)),
        ),
        ...(found.length > limit ? { continuation: formatUploadsContinuation(teamId, page.at(-1)!) } : {}),
      });
      outgoing.shrink(Buffer.byteLength(body));
      return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(body);
    },
  );

  app.post(
    '/apps/:appID/uploads',
    {
      schema: { params: appPath },
      config: { operation: uploadOperations.create, storesBytes: true },
    },
    async (request) => {
      const { teamId } = request.principal;
      readMediaType(request, ['application/json']);
      const identity = identify(request);
      const bytes = await collectBody(request, bodyBytesMax);
      identity.digest?.update(bytes);
      const members = readMembers(bytes);
      const event = createUpload({
        teamId,
        uploadId: randomUUIDv7(),
        path: request.params,
        members,
        limits: uploadLimits,
      });
      const applied = await submitter.submit(teamId, identity, event);
      return submitter.answering(applied, async ({ upload }) => ({
        data: await uploadAnswers.dataOf(upload!, request),
      }));
    },
  );

  app.post(
    '/apps/:appID/uploads/:uploadID/complete',
    {
      schema: { params: uploadPath },
      config: { operation: uploadOperations.complete, storesBytes: true },
    },
    async (request) => {
      const { teamId } = request.principal;
      const { appID: appId, uploadID } = request.params;
      const identity = await identifyWithBody(request, bodyBytesMax);
      const upload = isUploadId(uploadID) ? await uploads.upload(uploadID, { teamId, appId }) : null;
      if (upload === null || (upload.isRemoved && upload.file === null)) throw notFound();
      // Refused here, because a sealed file of a refused request would stay for a day. With a key, the log has the
      // outcome.
      if (upload.isSuspended && identity.digest === null)
        throw new HttpError('payment_required', 'The team is suspended.');
      const event =
        turnedAwayOf(request.raw) ??
        completeUpload(teamId, request.params, upload.file ?? (await seal(files, uploadID, upload)));
      const applied = await submitter.submit(teamId, identity, event);
      // If another request has completed it meanwhile, no upload owns the file sealed here, and it is removed as an
      // orphan.
      return submitter.answering(applied, async ({ upload }) => ({
        data: await uploadAnswers.dataOf(upload!, request),
      }));
    },
  );

  app.delete(
    '/apps/:appID/uploads/:uploadID',
    {
      schema: { params: uploadPath },
      config: { operation: uploadOperations.remove },
    },
    async (request) => {
      const { teamId } = request.principal;
      const identity = await identifyWithBody(request, bodyBytesMax);
      if (!isUploadId(request.params.uploadID)) throw notFound();
      try {
        await submitter.submit(teamId, identity, deleteUpload(teamId, request.params));
      } catch (error) {
        recordWithdrawal(audit, request, request.params, error instanceof HttpError ? error.type : 'failed');
        throw error;
      }
      recordWithdrawal(audit, request, request.params, 'done');
      return {};
    },
  );
}

/**
 * An upload in a list, at this log time. An open one whose time is over counts as withdrawn, though no event has said
 * so yet.
 */
function present(upload: ListedUpload, now: number, urlOf: (file: string, fileName: string) => string): object {
  const { id, appId, contentType, fileName, createdAt, expiresAt, file, size, isRemoved } = upload;
  const status = isRemoved || (file === null && now >= expiresAt) ? 'withdrawn' : file === null ? 'open' : 'complete';
  return {
    id,
    appID: appId,
    status,
    contentType,
    fileName,
    created: new Date(createdAt).toISOString(),
    ...(status === 'open' ? { expires: new Date(expiresAt).toISOString() } : {}),
    ...(status === 'complete' ? { size, url: urlOf(file!, fileName) } : {}),
  };
}

/** Throws HttpError `upload_incomplete` if the bytes have not arrived completely. */
async function seal(files: FileStore, uploadId: string, { contentType, sizeMax }: UploadState): Promise<StoredFile> {
  const name = newFileName();
  const sealed = await files.seal({ uploadId, contentType, sizeMax }, name);
  if (sealed === null)
    throw new HttpError('upload_incomplete', 'The bytes of the file have not arrived, or not all of them.');
  return { name, size: sealed.size };
}

function recordWithdrawal(
  audit: AuditLog,
  request: FastifyRequest,
  { appID: appId, uploadID: uploadId }: UploadPath,
  result: string,
): void {
  const { teamId, tokenId } = request.principal;
  audit.write({ action: 'file.withdraw', result, teamId, tokenId, ...originOf(request), appId, uploadId });
}

function notFound(): HttpError {
  return new HttpError('upload_not_found', 'There is no such upload.');
}
