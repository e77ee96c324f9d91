/**
 * `/apps/{appID}/uploads/{uploadID}`: completes an upload (spec 4.9), and withdraws its file (which the specification
 * does not have).
 */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { completeUpload, uploadPath, type UploadPath } from '../../../../commands/complete-upload.ts';
import { deleteUpload } from '../../../../commands/delete-upload.ts';
import type { UploadQueries, UploadState } from '../../../../projections/uploads/uploads.queries.ts';
import type { AuditLog } from '../../../administration/audit/audit-log.ts';
import type { StoredFile } from '../../../language/events/upload-events.ts';
import { isUploadId, type FileStore } from '../../../storage/files/file-store.ts';
import { newFileName } from '../../../storage/files/new-file-name.ts';
import { HttpError } from '../answers/http-error.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import { nothing } from '../openapi/schemas.ts';
import { originOf } from '../requests/origin.ts';
import type { App } from '../server/app-type.ts';
import { identifyWithBody } from '../submit/request-identity.ts';
import type { Submitter } from '../submit/submitter.ts';
import { turnedAwayOf } from '../submit/turned-away.ts';
import type { UploadAnswers } from './upload-answers.ts';

export interface UploadDependencies {
  readonly submitter: Submitter;
  readonly uploads: UploadQueries;
  readonly files: FileStore;
  readonly uploadAnswers: UploadAnswers;
  readonly audit: AuditLog;
}

/** Maximum of bytes of a body: a media type, a file name, and further members from older clients. */
export const bodyBytesMax = 64 * 1024;

/** The URL of a file, for examples. */
export const exampleUrl = 'https://tables.example.com/files/mV0aZ3lqT1uHq5o2bR8x6w/photo.png';

export function uploadNotFound(): HttpError {
  return new HttpError('upload_not_found', 'There is no such upload.');
}

const completeOperation: Operation = {
  operationId: 'completeUpload',
  tag: 'Uploads',
  summary: 'Complete an upload',
  description:
    'Returns the public URL of the file; each repetition returns the same one. A file that is too large, or exceeds the plan of the team, is deleted. A file ' +
    'whose URL is in no row of the team for 30 days, unless the service is set otherwise, is deleted too.',
  answers: {
    200: {
      description: 'The file has its URL.',
      body: jsonContent(z.strictObject({ data: z.strictObject({ url: z.string() }) }), {
        completed: { data: { url: exampleUrl } },
      }),
    },
  },
  errors: ['payment_required', 'forbidden', 'upload_not_found', 'upload_incomplete', 'payload_too_large'],
};

function addCompleteUpload(app: App, { submitter, uploads, files, uploadAnswers }: UploadDependencies): void {
  app.post(
    '/apps/:appID/uploads/:uploadID/complete',
    { schema: { params: uploadPath }, config: { operation: completeOperation, storesBytes: true } },
    async (request) => {
      const { teamId } = request.principal;
      const { appID: appId, uploadID } = request.params;
      const identity = await identifyWithBody(request, bodyBytesMax);
      const upload = isUploadId(uploadID) ? await uploads.upload(uploadID, { teamId, appId }) : null;
      if (upload === null || (upload.isRemoved && upload.file === null)) throw uploadNotFound();
      // Refuse it here, because the sealed file of a refused request would stay for a day. With a key, only the log
      // knows the outcome.
      if (upload.isSuspended && identity.digest === null)
        throw new HttpError('payment_required', 'The team is suspended.');
      const event =
        turnedAwayOf(request.raw) ??
        completeUpload(teamId, request.params, upload.file ?? (await seal(files, uploadID, upload)));
      const applied = await submitter.submit(teamId, identity, event);
      // If another request has completed the upload first, no upload owns the file that was sealed here. Garbage
      // collection removes it.
      return submitter.answering(applied, async ({ upload }) => ({
        data: await uploadAnswers.dataOf(upload!, request),
      }));
    },
  );
}

/** Throws HttpError `upload_incomplete` if the bytes have not arrived completely. */
async function seal(files: FileStore, uploadId: string, { contentType, sizeMax }: UploadState): Promise<StoredFile> {
  const name = newFileName();
  const sealed = await files.seal({ uploadId, contentType, sizeMax }, name);
  if (sealed === null)
    throw new HttpError('upload_incomplete', 'The bytes of the file have not arrived, or not all of them.');
  return { name, size: sealed.size };
}

const deleteOperation: Operation = {
  operationId: 'deleteUpload',
  tag: 'Uploads',
  summary: 'Withdraw a file',
  description:
    'Deletes the file of a completed upload. From then on its URL answers 404, and its bytes no longer count for the plan of the team. Caches may show the file until they ask again: ' +
    'see `Cache-Control` of the file. Rows that contain the URL keep it as text. An open upload is given up.',
  answers: {
    200: { description: 'The upload and its file are deleted.', body: jsonContent(nothing, { deleted: {} }) },
  },
  errors: ['payment_required', 'forbidden', 'upload_not_found'],
};

function addDeleteUpload(app: App, { submitter, audit }: UploadDependencies): void {
  app.delete(
    '/apps/:appID/uploads/:uploadID',
    { schema: { params: uploadPath }, config: { operation: deleteOperation } },
    async (request) => {
      const { teamId } = request.principal;
      const identity = await identifyWithBody(request, bodyBytesMax);
      if (!isUploadId(request.params.uploadID)) throw uploadNotFound();
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

function recordWithdrawal(
  audit: AuditLog,
  request: FastifyRequest,
  { appID: appId, uploadID: uploadId }: UploadPath,
  result: string,
): void {
  const { teamId, tokenId } = request.principal;
  audit.write({ action: 'file.withdraw', result, teamId, tokenId, ...originOf(request), appId, uploadId });
}

export function addSingleUploadRoutes(app: App, dependencies: UploadDependencies): void {
  addCompleteUpload(app, dependencies);
  addDeleteUpload(app, dependencies);
}
