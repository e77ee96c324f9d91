/** Lists uploads and creates them (spec 4.8). The specification does not have the list. */
import { randomUUIDv7 } from 'node:crypto';
import { z } from 'zod';
import { appPath, createUpload, newUpload } from '../../../../commands/create-upload.ts';
import type { ListedUpload } from '../../../../projections/uploads/uploads.queries.ts';
import type { UploadLimits } from '../../../language/events/limits.ts';
import { readMembers } from '../../../language/formats/read-members.ts';
import type { EventLog } from '../../../log/event-log.ts';
import { readPage } from '../answers/read-page.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { collectBody } from '../bodies/request-body.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, linksTo, type Link, type Operation } from '../openapi/operation.ts';
import { continuation, examples } from '../openapi/schemas.ts';
import { formatUploadsContinuation, parseUploadsContinuation } from '../requests/continuation.ts';
import { pageQuery } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import { identify } from '../submit/request-identity.ts';
import { addSingleUploadRoutes, bodyBytesMax, exampleUrl, type UploadDependencies } from './upload.ts';

interface UploadsRouteDependencies extends UploadDependencies {
  readonly uploadLimits: UploadLimits;
  readonly log: Pick<EventLog, 'now'>;
  readonly shares: Pick<Shares, 'pages' | 'outgoingBytes'>;
}

/** Maximum of uploads in a page, and of bytes of JSON for one upload. A file name in a URL is long if it is escaped. */
const pageUploadsMax = 1000;
const uploadBytesMax = 8 * 1024;

const uploadId = z.string().meta({ description: 'The ID of the upload.' });

const listed = z
  .strictObject({
    id: uploadId,
    appID: z.string(),
    status: z.enum(['open', 'complete', 'withdrawn']).meta({
      description:
        '`withdrawn`: the upload was deleted or refused, or expired before it was completed, or no row had the URL of its file for too long.',
    }),
    contentType: z.string(),
    fileName: z.string(),
    created: z.iso.datetime(),
    expires: z.iso.datetime().optional().meta({ description: 'For an open upload: when it expires.' }),
    size: z.int().min(0).optional().meta({ description: 'For a complete upload: the bytes of its file.' }),
    url: z.string().optional().meta({ description: 'For a complete upload: the public URL of its file.' }),
  })
  .meta({ id: 'ListedUpload' });

const listOperation: Operation = {
  operationId: 'listUploads',
  tag: 'Uploads',
  summary: 'List uploads',
  description:
    "A page of the team's uploads, newest first; at most 1,000. The token of an app sees the uploads of the app. While uploads remain, the answer has a " +
    '`continuation`; the last page has none.',
  answers: {
    200: {
      description: 'Uploads, and the continuation.',
      body: jsonContent(z.strictObject({ data: z.array(listed), continuation }), {
        'one of each status': {
          data: [
            {
              id: examples.tableId,
              appID: 'shop',
              status: 'open',
              contentType: 'image/png',
              fileName: 'next.png',
              created: '2026-01-02T03:06:05.678Z',
              expires: '2026-01-03T03:06:05.678Z',
            },
            {
              id: examples.tableId,
              appID: 'shop',
              status: 'complete',
              contentType: 'image/png',
              fileName: 'photo.png',
              created: '2026-01-02T03:05:05.678Z',
              size: 146_515,
              url: exampleUrl,
            },
            {
              id: examples.tableId,
              appID: 'shop',
              status: 'withdrawn',
              contentType: 'image/png',
              fileName: 'old.png',
              created: '2026-01-02T03:04:05.678Z',
            },
          ],
        },
      }),
    },
  },
};

function addListUploads(app: App, { uploads, uploadAnswers, log, shares }: UploadsRouteDependencies): void {
  app.get(
    '/uploads',
    { schema: { querystring: pageQuery('uploads', pageUploadsMax) }, config: { operation: listOperation } },
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
}

/**
 * An upload in a list, at this log time. An open upload that has expired counts as withdrawn, although no event has
 * recorded that yet.
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

/** The links have no `putUploadBytes`: the bytes go to a URL of its own, which is no parameter. */
const uploadLinks: readonly Link[] = linksTo(['completeUpload', 'deleteUpload'], {
  appID: '$request.path.appID',
  uploadID: '$response.body#/data/uploadID',
});

const createOperation: Operation = {
  operationId: 'createUpload',
  tag: 'Uploads',
  summary: 'Create an upload',
  description:
    'Returns the URL to which the client sends the bytes of the file with `PUT`: with the `contentType` as `Content-Type`, without a token, and within 24 hours unless ' +
    'the service is set otherwise. Then the client completes the upload. An app exists once a team names it. A team has at most 1,000 uploads that are neither ' +
    'completed nor expired, and at most 100 GiB may arrive for them, unless its plan or the service is set otherwise.',
  body: jsonContent(newUpload, { photo: { contentType: 'image/png', fileName: 'photo.png' } }),
  answers: {
    200: {
      description: 'The upload, and the URL for its bytes.',
      body: jsonContent(z.strictObject({ data: z.strictObject({ uploadID: uploadId, uploadLocation: z.string() }) }), {
        created: {
          data: {
            uploadID: examples.tableId,
            uploadLocation: `https://tables.example.com/uploads/${examples.tableId}?signature=...`,
          },
        },
      }),
      links: uploadLinks,
    },
  },
  errors: ['payment_required', 'limit_exceeded', 'forbidden'],
};

function addCreateUpload(app: App, { submitter, uploadAnswers, uploadLimits }: UploadsRouteDependencies): void {
  app.post(
    '/apps/:appID/uploads',
    { schema: { params: appPath }, config: { operation: createOperation, storesBytes: true } },
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
}

export function addUploadRoutes(app: App, dependencies: UploadsRouteDependencies): void {
  addListUploads(app, dependencies);
  addCreateUpload(app, dependencies);
  addSingleUploadRoutes(app, dependencies);
}
