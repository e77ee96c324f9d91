/** The operations of the upload and file routes. */
import { z } from 'zod';
import { newUpload } from '../../../../commands/create-upload.ts';
import { json, type Contents, type Operation } from '../openapi/operation.ts';
import { uploadLinks } from '../openapi/links.ts';
import { continuation, nothing } from '../openapi/schemas.ts';

const uploadId = z.string().meta({ description: 'The ID of the upload.' });
const exampleId = '0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e';
const exampleUrl = 'https://tables.example.com/files/mV0aZ3lqT1uHq5o2bR8x6w/photo.png';

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

const list: Operation = {
  operationId: 'listUploads',
  tag: 'Uploads',
  summary: 'List uploads',
  description:
    "A page of the team's uploads, newest first: 1,000 unless fewer are asked for; of the token of an app, those of the app. While uploads remain, the answer has a " +
    '`continuation`; the last page has none.',
  answers: {
    200: {
      description: 'Uploads, and where to go on.',
      body: json(z.strictObject({ data: z.array(listed), continuation }), {
        'one of each status': {
          data: [
            {
              id: exampleId,
              appID: 'shop',
              status: 'open',
              contentType: 'image/png',
              fileName: 'next.png',
              created: '2026-01-02T03:06:05.678Z',
              expires: '2026-01-03T03:06:05.678Z',
            },
            {
              id: exampleId,
              appID: 'shop',
              status: 'complete',
              contentType: 'image/png',
              fileName: 'photo.png',
              created: '2026-01-02T03:05:05.678Z',
              size: 146_515,
              url: exampleUrl,
            },
            {
              id: exampleId,
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

const create: Operation = {
  operationId: 'createUpload',
  tag: 'Uploads',
  summary: 'Create an upload',
  description:
    'Gives the URL that the bytes of the file are sent to, with `PUT`, the `contentType` as `Content-Type` and no token, within 24 hours unless ' +
    'the service is set otherwise. Then the upload is completed. An app is there once a team names it. A team has at most 1000 uploads that are neither ' +
    'completed nor over, and at most 100 GiB may arrive for them, unless its plan or the service is set otherwise.',
  body: json(newUpload, { photo: { contentType: 'image/png', fileName: 'photo.png' } }),
  answers: {
    200: {
      description: 'The upload, and where its bytes go.',
      body: json(z.strictObject({ data: z.strictObject({ uploadID: uploadId, uploadLocation: z.string() }) }), {
        created: {
          data: {
            uploadID: exampleId,
            uploadLocation: `https://tables.example.com/uploads/${exampleId}?signature=...`,
          },
        },
      }),
      links: uploadLinks,
    },
  },
  errors: ['payment_required', 'limit_exceeded', 'forbidden'],
};

const anyBytes: Contents = { '*/*': { schema: z.string().meta({ format: 'binary' }), examples: { text: 'Hello.' } } };

const put: Operation = {
  operationId: 'putUploadBytes',
  tag: 'Uploads',
  summary: 'Send the bytes of a file',
  description:
    'To the URL that the upload was created with, which is signed and needs no token. They may be sent again until the upload is completed: the last ' +
    'that came whole count. Two requests are read at once for an upload; a third waits a while, and is refused then. Where the service keeps files in S3 the URL is one of S3 instead.',
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

const complete: Operation = {
  operationId: 'completeUpload',
  tag: 'Uploads',
  summary: 'Complete an upload',
  description:
    'Gives the public URL of the file; asked again, the same one. What is too large, or more than the plan of the team allows, is deleted. A file ' +
    'whose URL is in no row of the team for 30 days, unless the service is set otherwise, is deleted too.',
  answers: {
    200: {
      description: 'The file has its URL.',
      body: json(z.strictObject({ data: z.strictObject({ url: z.string() }) }), {
        completed: { data: { url: exampleUrl } },
      }),
    },
  },
  errors: ['payment_required', 'forbidden', 'upload_not_found', 'upload_incomplete', 'payload_too_large'],
};

const remove: Operation = {
  operationId: 'deleteUpload',
  tag: 'Uploads',
  summary: 'Withdraw a file',
  description:
    'Deletes the file of a completed upload: its URL is 404 from then on, and the plan of the team has its bytes back. Caches may show it until they ask again: ' +
    'see `Cache-Control` of the file. Rows that contain the URL keep it as text. An upload that was not completed is given up.',
  answers: { 200: { description: 'The upload and its file are deleted.', body: json(nothing, { deleted: {} }) } },
  errors: ['payment_required', 'forbidden', 'upload_not_found'],
};

const file: Operation = {
  operationId: 'getFile',
  tag: 'Uploads',
  summary: 'Get a file',
  description:
    'The public URL of a completed upload. Its bytes never change, but the file may be withdrawn: caches ask again after an hour, unless the service is ' +
    'set otherwise. Pictures, sounds, films and plain text are shown, everything else is saved. Files of a suspended team are not served.',
  answers: {
    200: { description: 'The file.', headers: fileHeaders(), body: anyBytes },
    206: {
      description: 'The part of it that `Range` asks for.',
      headers: ['Content-Range', ...fileHeaders()],
      body: anyBytes,
    },
    304: { description: 'The client has it already.', headers: fileHeaders() },
    307: {
      description: 'Files have an address of their own here. The file is at `Location`.',
      headers: ['File-Location'],
    },
  },
  errors: ['payment_required', 'not_found', 'range_not_satisfiable', 'rate_limited', 'service_unavailable'],
};

function fileHeaders() {
  return [
    'File-ETag',
    'File-Cache-Control',
    'Content-Disposition',
    'Accept-Ranges',
    'X-Content-Type-Options',
    'Content-Security-Policy',
  ] as const;
}

export const uploadOperations = { list, create, put, complete, remove, file };
