/**
 * Spec 4.7: the state of a request that was answered 202, or 503 with a job's ID. The list of jobs is ours, not the
 * spec's.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RowQueries } from '../../../../projections/tables/rows.queries.ts';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import type { UploadQueries } from '../../../../projections/uploads/uploads.queries.ts';
import { countRowsOf, type UploadResult } from '../../../language/events/outcome.ts';
import type { Job } from '../../../storage/security/job-id.ts';
import type { App } from '../server/app-type.ts';
import type { Principal } from '../access/authenticate.ts';
import { jobOperations } from './jobs-operations.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { readPage } from '../answers/read-page.ts';
import type { Shares } from '../limits/shares.ts';
import { invalidContinuation } from '../requests/continuation.ts';
import { pageQuery } from '../requests/page-query.ts';
import type { Jobs, JobState, ListedJob } from '../submit/jobs.ts';
import { encloseResult } from '../answers/result-json.ts';
import type { UploadAnswers } from '../uploads/upload-answers.ts';

const json = 'application/json; charset=utf-8';

/** How many jobs a page has at most, and the bytes of JSON that a job with a long refusal takes. */
const pageJobsMax = 1000;
const jobBytesMax = 4096;

type Answer = (reply: FastifyReply, job: Job, state: JobState) => FastifyReply | Promise<FastifyReply>;

export interface JobsRouteDependencies {
  readonly tables: Pick<TableQueries, 'idsAmong'>;
  readonly jobs: Jobs;
  readonly rows: RowQueries;
  readonly uploads: UploadQueries;
  readonly uploadAnswers: UploadAnswers;
  readonly shares: Pick<Shares, 'pages' | 'outgoingBytes'>;
}

export function addJobRoutes(
  app: App,
  { jobs, tables, rows, uploads, uploadAnswers, shares }: JobsRouteDependencies,
): void {
  app.get(
    '/jobs',
    {
      schema: { querystring: pageQuery('jobs', pageJobsMax) },
      config: { operation: jobOperations.list, duringQuarantine: true },
    },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const { limit, continuation } = request.query;
      // The continuation is the ID of the last job of the page before.
      const after = continuation === undefined ? null : jobs.place(teamId, continuation);
      if (after === null && continuation !== undefined) throw invalidContinuation('query.', 'these jobs');
      const { page, outgoing } = await readPage(shares, reply, limit * jobBytesMax, () =>
        jobs.list(teamId, { appId, after, limit }),
      );
      // A request may have named a table that is not there, or of another team.
      const known = await tables.idsAmong(
        teamId,
        page.jobs.flatMap((listed) => tableOf(listed) ?? []),
      );
      const body = JSON.stringify({
        data: page.jobs.map((listed) => present(jobs, listed, known)),
        ...(page.next === null ? {} : { continuation: page.next }),
      });
      outgoing.shrink(Buffer.byteLength(body));
      return reply.header('cache-control', 'no-store').type(json).send(body);
    },
  );

  app.get(
    '/jobs/:jobID',
    { config: { operation: jobOperations.get, duringQuarantine: true } },
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
    { config: { operation: jobOperations.progress, duringQuarantine: true } },
    answerJob(jobs, (reply, job, state) => {
      return reply.send(JSON.stringify({ data: progressOf(jobs, job, state) }));
    }),
  );
}

/** The table that a job is about. One created under an Idempotency-Key has the ID that the first try gave it. */
function tableOf({ note, state }: ListedJob): string | null {
  return (state.status === 'succeeded' ? state.result.tableId : undefined) ?? note.tableId;
}

/** A job in a list. `known`: the tables that are there. */
function present(jobs: Jobs, listed: ListedJob, known: ReadonlySet<string>): object {
  const {
    note: { jobId, operation, stashId },
    job,
    state,
    askedAt,
  } = listed;
  const tableId = tableOf(listed);
  return {
    id: jobId,
    operation,
    created: new Date(askedAt).toISOString(),
    tableID: tableId !== null && known.has(tableId) ? tableId : null,
    stashID: stashId,
    status: state.status,
    ...(state.status === 'failed' ? { error: { message: state.message } } : {}),
    progress: progressOf(jobs, job, state),
  };
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
async function maySendTo(
  uploads: UploadQueries,
  { id }: UploadResult,
  { teamId, appId, readOnly }: Principal,
): Promise<boolean> {
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
