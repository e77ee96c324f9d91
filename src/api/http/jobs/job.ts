/**
 * `/jobs/{jobID}`: the state of a request that was answered with 202, or with 503 and the ID of a job (spec 4.7); and
 * its progress.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RowQueries } from '../../../../projections/tables/rows.queries.ts';
import type { UploadQueries } from '../../../../projections/uploads/uploads.queries.ts';
import { countRowsOf, type UploadResult } from '../../../language/events/outcome.ts';
import type { Job } from '../../../storage/security/job-id.ts';
import type { Principal } from '../access/authenticate.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { encloseResult } from '../answers/result-json.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import { examples, nothing, rowIds, tableId } from '../openapi/schemas.ts';
import type { App } from '../server/app-type.ts';
import type { Jobs, JobState } from '../submit/jobs.ts';
import type { UploadAnswers } from '../uploads/upload-answers.ts';

export interface JobDependencies {
  readonly jobs: Jobs;
  readonly rows: RowQueries;
  readonly uploads: UploadQueries;
  readonly uploadAnswers: UploadAnswers;
}

export const jobProgress = z
  .strictObject({
    phase: z.enum(['waiting', 'done', 'failed']),
    rowsDone: z.int().min(0),
    rowsTotal: z.int().min(0).nullable().meta({ description: 'Null while it is unknown.' }),
    eventsAhead: z
      .int()
      .min(0)
      .optional()
      .meta({
        description:
          "The number of events in the team's part of the log that are not decided yet, as far as this process knows. They are " +
          'events of all teams of that part, also events after the request. So at most this many are decided before it. ' +
          'With the log in Postgres, it is 0.',
      }),
    cellsDropped: z
      .int()
      .min(0)
      .optional()
      .meta({ description: 'The value that `Tablog-Dropped-Cells` would have had.' }),
  })
  .meta({ id: 'JobProgress' });

export function progressOf(jobs: Jobs, job: Job, state: JobState): object {
  switch (state.status) {
    case 'running':
      return { phase: 'waiting', rowsDone: 0, rowsTotal: job.rows, eventsAhead: jobs.eventsAhead(job) };
    case 'succeeded': {
      const rows = job.rows ?? countRowsOf(state.result.rows ?? []);
      const { droppedCells } = state.result;
      return {
        phase: 'done',
        rowsDone: rows,
        rowsTotal: rows,
        ...(droppedCells === undefined ? {} : { cellsDropped: droppedCells }),
      };
    }
    case 'failed':
      return { phase: 'failed', rowsDone: 0, rowsTotal: job.rows };
  }
}

const jobPath = { jobID: z.string().meta({ description: 'The ID of a job.' }) };

const result = z
  .union([
    z.strictObject({ tableID: tableId, rowIDs: rowIds, linkedAppIDs: z.array(z.string()).optional() }),
    z.strictObject({ rowIDs: rowIds }),
    z.strictObject({
      uploadID: z.string(),
      uploadLocation: z.string().optional().meta({
        description:
          'Left out for a token that may only read, or that is limited to another app than that of the upload.',
      }),
    }),
    z.strictObject({ url: z.string() }),
    nothing,
  ])
  .meta({ description: 'The `data` that the answer to the request would have had.' });

const job = z
  .union([
    z.strictObject({ status: z.literal('running') }),
    z.strictObject({ status: z.literal('succeeded'), result }),
    z.strictObject({ status: z.literal('failed'), error: z.strictObject({ message: z.string() }) }),
  ])
  .meta({ id: 'Job' });

const getOperation: Operation = {
  operationId: 'getJob',
  tag: 'Jobs',
  path: jobPath,
  summary: 'Get a job',
  description: 'The state of a request that was answered with the ID of a job. The service keeps jobs for 7 days.',
  answers: {
    200: {
      headersAtTimes: ['Retry-After'],
      description: 'The job. While it is running, `Retry-After` says when to ask again.',
      body: jsonContent(z.strictObject({ data: job }), {
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

const progressOperation: Operation = {
  operationId: 'getJobProgress',
  tag: 'Jobs',
  path: jobPath,
  summary: 'Get the progress of a job',
  description:
    'How many rows of the request have taken effect: none or all of them. `eventsAhead` is the highest number of events ' +
    'that the service may have to decide before.',
  answers: {
    200: {
      headersAtTimes: ['Retry-After'],
      description: 'The progress.',
      body: jsonContent(z.strictObject({ data: jobProgress }), {
        waiting: { data: { phase: 'waiting', rowsDone: 0, rowsTotal: 1000, eventsAhead: 12 } },
        done: { data: { phase: 'done', rowsDone: 1000, rowsTotal: 1000 } },
      }),
    },
  },
  errors: ['job_not_found'],
};

type Answer = (reply: FastifyReply, job: Job, state: JobState) => FastifyReply | Promise<FastifyReply>;

export function addSingleJobRoutes(app: App, { jobs, rows, uploads, uploadAnswers }: JobDependencies): void {
  app.get(
    '/jobs/:jobID',
    { config: { operation: getOperation, duringQuarantine: true } },
    answerJob(jobs, async (reply, _job, state) => {
      if (state.status === 'succeeded' && state.result.upload !== undefined) {
        const { upload } = state.result;
        const isShown = upload.file !== null || (await maySendTo(uploads, upload, reply.request.principal));
        const result = isShown ? await uploadAnswers.dataOf(upload, reply.request) : { uploadID: upload.id };
        return reply.send(JSON.stringify({ data: { status: state.status, result } }));
      }
      if (state.status === 'succeeded') {
        const before = '{"data":{"status":"succeeded","result":';
        return reply.send(await encloseResult(before, state.result, '}}', (range) => rows.retainedIds(range)));
      }
      const error = state.status === 'failed' ? { error: { message: state.message } } : {};
      return reply.send(JSON.stringify({ data: { status: state.status, ...error } }));
    }),
  );

  app.get(
    '/jobs/:jobID/progress',
    { config: { operation: progressOperation, duringQuarantine: true } },
    answerJob(jobs, (reply, job, state) => {
      return reply.send(JSON.stringify({ data: progressOf(jobs, job, state) }));
    }),
  );
}

/** Finds the job and sets the headers that all job routes have in common. */
function answerJob(jobs: Jobs, answer: Answer) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { jobID } = request.params as { readonly jobID: string };
    void reply.header('cache-control', 'no-store');
    const found = await jobs.find(request.principal.teamId, jobID);
    if (found === null) return replyWithError(reply, 'job_not_found', 'There is no such job.');
    if (found.state.status === 'running') void reply.header('retry-after', '1');
    return answer(reply.type('application/json; charset=utf-8'), found.job, found.state);
  };
}

/**
 * Whether to show the upload location. It allows writing without a token, so only tokens that could have created the
 * upload may see it.
 */
async function maySendTo(
  uploads: UploadQueries,
  { id }: UploadResult,
  { teamId, appId, readOnly }: Principal,
): Promise<boolean> {
  if (readOnly) return false;
  return appId === null || (await uploads.upload(id, { teamId, appId })) !== null;
}
