/** Uploads: lists and creates them (spec 4.8). The list is ours, not the spec's. */
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

/**
 * How many uploads a page has at most, and how many bytes of JSON one has at most: a name in a URL is long if it is
 * escaped.
 */
const pageUploadsMax = 1000;
const uploadBytesMax = 8 * 1024;

const uploadId = z.string().meta({ description: 'The ID of the upload.' });

const listed = z
  .strictObject({
    id: uploadId,
    appID: z.string(),
    status: z.enum(['open', 'complete', 'withdrawn']).meta({
      description:
        '`withdrawn`: deleted or refused, or its time was over before it was completed, or its file was in no row for too long.',
    }),
    contentType: z.string(),
    fileName: z.string(),
    created: z.iso.datetime(),
    expires: z.iso.datetime().optional().meta({ description: 'Of an open one: until when it can be completed.' }),
    size: z.int().min(0).optional().meta({ description: 'Of a complete one: the bytes of its file.' }),
    url: z.string().optional().meta({ description: 'Of a complete one: the public URL of its file.' }),
  })
  .meta({ id: 'ListedUpload' });

const listOperation: Operation = {
  operationId: 'listUploads',
  tag: 'Uploads',
  summary: 'List uploads',
  description:
    "A page of the team's uploads, newest first: 1,000 unless fewer are asked for; of the token of an app, those of the app. While uploads remain, the answer has a " +
    '`continuation`; the last page has none.',
  answers: {
    200: {
      description: 'Uploads, and where to go on.',
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

/** Where its bytes are sent to is a URL of its own, and no parameter. */
const uploadLinks: readonly Link[] = linksTo(['completeUpload', 'deleteUpload'], {
  appID: '$request.path.appID',
  uploadID: '$response.body#/data/uploadID',
});

const createOperation: Operation = {
  operationId: 'createUpload',
  tag: 'Uploads',
  summary: 'Create an upload',
  description:
    'Gives the URL that the bytes of the file are sent to, with `PUT`, the `contentType` as `Content-Type` and no token, within 24 hours unless ' +
    'the service is set otherwise. Then the upload is completed. An app is there once a team names it. A team has at most 1000 uploads that are neither ' +
    'completed nor over, and at most 100 GiB may arrive for them, unless its plan or the service is set otherwise.',
  body: jsonContent(newUpload, { photo: { contentType: 'image/png', fileName: 'photo.png' } }),
  answers: {
    200: {
      description: 'The upload, and where its bytes go.',
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
