/** Spec 4.8 and 4.9: uploads, from their creation to the public URL of the file; and its withdrawal, whose path is ours, not the spec's. */
import { randomUUIDv7 } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { completeUpload, uploadPath, type UploadPath } from '../../../commands/complete-upload.ts';
import { appPath, createUpload } from '../../../commands/create-upload.ts';
import { deleteUpload } from '../../../commands/delete-upload.ts';
import type { AuditLog } from '../../audit/audit-log.ts';
import type { StoredFile, UploadLimits } from '../../events/event.ts';
import { newFileName } from '../../files/new-file-name.ts';
import { readMembers } from '../../formats/read-members.ts';
import { isUploadId, type FileStore } from '../../files/file-store.ts';
import type { UploadQueries, UploadState } from '../../../projections/uploads/uploads.queries.ts';
import type { App } from '../server/app-type.ts';
import { uploadOperations } from '../openapi/operations/uploads.ts';
import { HttpError } from '../answers/http-error.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { collectBody } from '../bodies/request-body.ts';
import { identify, identifyWithBody, type Submitter } from '../submit/submitter.ts';
import type { UploadAnswers } from '../answers/upload-answers.ts';
import { originOf } from '../requests/origin.ts';

export interface UploadsRouteDependencies {
  readonly submitter: Submitter;
  readonly uploads: UploadQueries;
  readonly files: FileStore;
  readonly uploadAnswers: UploadAnswers;
  readonly uploadLimits: UploadLimits;
  readonly audit: AuditLog;
}

/** Limit of the body of a creation: a media type, a file name, and further members from older clients. */
const bodyBytesMax = 64 * 1024;

export function addUploadRoutes(app: App, { submitter, uploads, files, uploadAnswers, uploadLimits, audit }: UploadsRouteDependencies): void {
  app.post('/apps/:appID/uploads', {
    schema: { params: appPath }, config: { operation: uploadOperations.create, storesBytes: true },
  }, async (request) => {
    const { teamId } = request.principal;
    readMediaType(request, ['application/json']);
    const identity = identify(request);
    const bytes = await collectBody(request, bodyBytesMax);
    identity.digest?.update(bytes);
    const members = readMembers(bytes);
    const event = createUpload({ teamId, uploadId: randomUUIDv7(), path: request.params, members, limits: uploadLimits });
    const applied = await submitter.submit(teamId, identity, event);
    return submitter.answering(applied, async ({ upload }) => ({ data: await uploadAnswers.dataOf(upload!, request) }));
  });

  app.post('/apps/:appID/uploads/:uploadID/complete', {
    schema: { params: uploadPath }, config: { operation: uploadOperations.complete, storesBytes: true },
  }, async (request) => {
    const { teamId } = request.principal;
    const { appID: appId, uploadID } = request.params;
    const identity = await identifyWithBody(request, bodyBytesMax);
    const upload = isUploadId(uploadID) ? await uploads.upload(uploadID, { teamId, appId }) : null;
    if (upload === null || (upload.isRemoved && upload.file === null)) throw notFound();
    // Refused here, because a sealed file of a refused request would stay for a day. With a key, the log has the outcome.
    if (upload.isSuspended && identity.digest === null) throw new HttpError('payment_required', 'The team is suspended.');
    const file = upload.file ?? (await seal(files, uploadID, upload));
    const applied = await submitter.submit(teamId, identity, completeUpload(teamId, request.params, file));
    // If another request has completed it meanwhile, no upload owns the file sealed here, and it is removed as an orphan.
    return submitter.answering(applied, async ({ upload }) => ({ data: await uploadAnswers.dataOf(upload!, request) }));
  });

  app.delete('/apps/:appID/uploads/:uploadID', {
    schema: { params: uploadPath }, config: { operation: uploadOperations.remove },
  }, async (request) => {
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
  });
}

/** Throws HttpError `upload_incomplete` if the bytes have not arrived completely. */
async function seal(files: FileStore, uploadId: string, { contentType, sizeMax }: UploadState): Promise<StoredFile> {
  const name = newFileName();
  const sealed = await files.seal({ uploadId, contentType, sizeMax }, name);
  if (sealed === null) throw new HttpError('upload_incomplete', 'The bytes of the file have not arrived, or not all of them.');
  return { name, size: sealed.size };
}

function recordWithdrawal(audit: AuditLog, request: FastifyRequest, { appID: appId, uploadID: uploadId }: UploadPath, result: string): void {
  const { teamId, tokenId } = request.principal;
  audit.write({ action: 'file.withdraw', result, teamId, tokenId, ...originOf(request), appId, uploadId });
}

function notFound(): HttpError {
  return new HttpError('upload_not_found', 'There is no such upload.');
}
