/** Spec 4.7: the state of a request that was answered 202, or 503 with a job's ID. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RowQueries } from '../../../projections/tables/rows.queries.ts';
import type { UploadQueries } from '../../../projections/uploads/uploads.queries.ts';
import { countRowsOf, type UploadResult } from '../../events/outcome.ts';
import type { Job } from '../../security/job-id.ts';
import type { App } from '../server/app-type.ts';
import type { Principal } from '../access/authenticate.ts';
import { jobOperations } from '../openapi/operations/jobs.ts';
import { replyWithError } from '../answers/error-reply.ts';
import type { Jobs, JobState } from '../submit/jobs.ts';
import { encloseResult } from '../answers/result-json.ts';
import type { UploadAnswers } from '../answers/upload-answers.ts';

const json = 'application/json; charset=utf-8';

type Answer = (reply: FastifyReply, job: Job, state: JobState) => FastifyReply | Promise<FastifyReply>;

export interface JobsRouteDependencies {
  readonly jobs: Jobs;
  readonly rows: RowQueries;
  readonly uploads: UploadQueries;
  readonly uploadAnswers: UploadAnswers;
}

export function addJobRoutes(app: App, { jobs, rows, uploads, uploadAnswers }: JobsRouteDependencies): void {
  app.get('/jobs/:jobID', { config: { operation: jobOperations.get, duringQuarantine: true } }, answerJob(jobs, async (reply, _job, state) => {
    if (state.status === 'succeeded' && state.result.upload !== undefined) {
      const { upload } = state.result;
      const isShown = upload.file !== null || await maySendTo(uploads, upload, reply.request.principal);
      const result = isShown ? await uploadAnswers.dataOf(upload, reply.request) : { uploadID: upload.id };
      return reply.send(JSON.stringify({ data: { status: state.status, result } }));
    }
    if (state.status === 'succeeded') {
      const before = '{"data":{"status":"succeeded","result":';
      return reply.send(await encloseResult(before, state.result, '}}', (range) => rows.retainedIds(range)));
    }
    const error = state.status === 'failed' ? { error: { message: state.message } } : {};
    return reply.send(JSON.stringify({ data: { status: state.status, ...error } }));
  }));

  app.get('/jobs/:jobID/progress', { config: { operation: jobOperations.progress, duringQuarantine: true } }, answerJob(jobs, (reply, job, state) => {
    return reply.send(JSON.stringify({ data: progressOf(jobs, job, state) }));
  }));
}

/** Finds the job, and does what all job routes have in common. */
function answerJob(jobs: Jobs, answer: Answer) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { jobID } = request.params as { readonly jobID: string };
    void reply.header('cache-control', 'no-store');
    const found = await jobs.find(request.principal.teamId, jobID);
    if (found === null) return replyWithError(reply, 'job_not_found', 'There is no such job.');
    if (found.state.status === 'running') void reply.header('retry-after', '1');
    return answer(reply.type(json), found.job, found.state);
  };
}

/** The upload location is only for tokens that could have created the upload: it allows writing without a token. */
async function maySendTo(uploads: UploadQueries, { id }: UploadResult, { teamId, appId, readOnly }: Principal): Promise<boolean> {
  if (readOnly) return false;
  return appId === null || (await uploads.upload(id, { teamId, appId })) !== null;
}

function progressOf(jobs: Jobs, job: Job, state: JobState): object {
  switch (state.status) {
    case 'running':
      return { phase: 'waiting', rowsDone: 0, rowsTotal: job.rows, eventsAhead: jobs.eventsAhead(job) };
    case 'succeeded': {
      const rows = job.rows ?? countRowsOf(state.result.rows ?? []);
      const { droppedCells } = state.result;
      return { phase: 'done', rowsDone: rows, rowsTotal: rows, ...(droppedCells === undefined ? {} : { cellsDropped: droppedCells }) };
    }
    case 'failed':
      return { phase: 'failed', rowsDone: 0, rowsTotal: job.rows };
  }
}
