/** The operations of the job routes, and the answers that name a job. */
import { z } from 'zod';
import { json, type Answer, type Operation } from '../openapi/operation.ts';
import { jobLinks, tableLinks } from '../openapi/links.ts';
import { continuation, examples, nothing, rowIds, tableId } from '../openapi/schemas.ts';

const jobId = z.string().meta({ description: 'The ID of the job.' });
const exampleId = 'AgEFAZnC9G0eejCMVR8KKzxNXgGZwvRtHnownFUfCis8TV4BmcL0bR4AAAAAAGSp0kMhSVPc0NAVm3oQ';
const link = ['Location', 'Retry-After'] as const;

/** The answer to a request that continues as a job. */
export const accepted: Answer = {
  description: 'The request goes on as a job. `Location` is where to ask for it.',
  headers: link,
  headersAtTimes: ['Tablog-Short-Lines', 'Tablog-Notes'],
  body: json(z.strictObject({ data: z.strictObject({ jobID: jobId }) }), { accepted: { data: { jobID: exampleId } } }),
  links: jobLinks,
};

/** The same for creating a table, which exists once the job has succeeded. */
export const acceptedTable: Answer = {
  ...accepted,
  body: json(z.strictObject({ data: z.strictObject({ tableID: tableId, jobID: jobId }) }), {
    accepted: { data: { tableID: examples.tableId, jobID: exampleId } },
  }),
  links: [...jobLinks, ...tableLinks],
};

const result = z
  .union([
    z.strictObject({ tableID: tableId, rowIDs: rowIds, linkedAppIDs: z.array(z.string()).optional() }),
    z.strictObject({ rowIDs: rowIds }),
    z.strictObject({
      uploadID: z.string(),
      uploadLocation: z
        .string()
        .optional()
        .meta({ description: 'Not for a token that is for reading only, or for another app than the upload.' }),
    }),
    z.strictObject({ url: z.string() }),
    nothing,
  ])
  .meta({ description: 'What the request would have been answered in `data`.' });

const job = z
  .union([
    z.strictObject({ status: z.literal('running') }),
    z.strictObject({ status: z.literal('succeeded'), result }),
    z.strictObject({ status: z.literal('failed'), error: z.strictObject({ message: z.string() }) }),
  ])
  .meta({ id: 'Job' });

const get: Operation = {
  operationId: 'getJob',
  tag: 'Jobs',
  summary: 'Get a job',
  description: "What has become of a request that was answered with a job's ID. Jobs are known for 7 days.",
  answers: {
    200: {
      headersAtTimes: ['Retry-After'],
      description: 'The job. While it runs, `Retry-After` says when to ask again.',
      body: json(z.strictObject({ data: job }), {
        running: { data: { status: 'running' } },
        succeeded: { data: { status: 'succeeded', result: { rowIDs: examples.rowIds } } },
        failed: {
          data: { status: 'failed', error: { message: 'rows[3].born: "soon" does not fit the column\'s type date' } },
        },
      }),
    },
  },
  errors: ['job_not_found'],
};

const jobProgress = z
  .strictObject({
    phase: z.enum(['waiting', 'done', 'failed']),
    rowsDone: z.int().min(0),
    rowsTotal: z.int().min(0).nullable().meta({ description: 'Null where it is not known yet.' }),
    eventsAhead: z.int().min(0).optional(),
    cellsDropped: z.int().min(0).optional().meta({ description: 'What `Tablog-Dropped-Cells` would have said.' }),
  })
  .meta({ id: 'JobProgress' });

const listedJob = z
  .strictObject({
    id: jobId,
    operation: z.string().meta({ description: 'The operation that was asked for, by its `operationId`.' }),
    created: z.iso.datetime().meta({ description: 'When it was asked for.' }),
    tableID: tableId
      .nullable()
      .meta({ description: 'The table that it is about, or has created; null if there is none, or not any more.' }),
    stashID: z
      .string()
      .nullable()
      .meta({ description: 'The stash whose rows are imported, or that is written to; null if there is none.' }),
    status: z.enum(['running', 'succeeded', 'failed']),
    error: z.strictObject({ message: z.string() }).optional().meta({ description: 'Why it failed.' }),
    progress: jobProgress,
  })
  .meta({ id: 'ListedJob' });

const list: Operation = {
  operationId: 'listJobs',
  tag: 'Jobs',
  summary: 'List jobs',
  description:
    "A page of the team's jobs of the last 7 days, newest first: 1,000 unless fewer are asked for. A request is among them once it was answered with " +
    'the ID of a job. What it would have been answered is at `GET /jobs/{jobID}`. The token of an app sees what tokens of that app asked for. A page may ' +
    'have fewer jobs than were asked for while it has a `continuation`.',
  answers: {
    200: {
      description: 'Jobs, and where to go on.',
      body: json(z.strictObject({ data: z.array(listedJob), continuation }), {
        'an import of a stash, and what could not be added': {
          data: [
            {
              id: exampleId,
              operation: 'createTable',
              created: '2026-01-02T03:04:05.678Z',
              tableID: null,
              stashID: 'import-7',
              status: 'running',
              progress: { phase: 'waiting', rowsDone: 0, rowsTotal: null, eventsAhead: 12 },
            },
            {
              id: exampleId,
              operation: 'addRows',
              created: '2026-01-02T03:04:04.567Z',
              tableID: examples.tableId,
              stashID: null,
              status: 'failed',
              error: { message: 'rows[3].born: "soon" does not fit the column\'s type date' },
              progress: { phase: 'failed', rowsDone: 0, rowsTotal: 1000 },
            },
          ],
        },
      }),
    },
  },
};

const progress: Operation = {
  operationId: 'getJobProgress',
  tag: 'Jobs',
  summary: 'Get the progress of a job',
  description:
    'How many rows of the request have taken effect: none or all of them. `eventsAhead` counts the requests of its part ' +
    'of the log that are still to be decided.',
  answers: {
    200: {
      headersAtTimes: ['Retry-After'],
      description: 'The progress.',
      body: json(z.strictObject({ data: jobProgress }), {
        waiting: { data: { phase: 'waiting', rowsDone: 0, rowsTotal: 1000, eventsAhead: 12 } },
        done: { data: { phase: 'done', rowsDone: 1000, rowsTotal: 1000 } },
      }),
    },
  },
  errors: ['job_not_found'],
};

export const jobOperations = { list, get, progress };
