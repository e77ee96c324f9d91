/** `/jobs`: the list of jobs. The specification does not have it. */
import { z } from 'zod';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { readPage } from '../answers/read-page.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import { continuation, examples, tableId } from '../openapi/schemas.ts';
import { invalidContinuation } from '../requests/continuation.ts';
import { pageQuery } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import type { Jobs, ListedJob } from '../submit/jobs.ts';
import { exampleJobId, jobId } from './accepted.ts';
import { addSingleJobRoutes, jobProgress, progressOf, type JobDependencies } from './job.ts';

interface JobsRouteDependencies extends JobDependencies {
  readonly tables: Pick<TableQueries, 'idsAmong'>;
  readonly shares: Pick<Shares, 'pages' | 'outgoingBytes'>;
}

/** Maximum of jobs in a page, and of bytes of JSON for one job (with a long refusal). */
const pageJobsMax = 1000;
const jobBytesMax = 4096;

const listedJob = z
  .strictObject({
    id: jobId,
    operation: z.string().meta({ description: 'The `operationId` of the request.' }),
    created: z.iso.datetime().meta({ description: 'When the service received the request.' }),
    tableID: tableId.nullable().meta({
      description: 'The table that the job changes or has created; null if there is none, or it was deleted.',
    }),
    stashID: z
      .string()
      .nullable()
      .meta({ description: 'The stash that the job imports from or writes to; null if there is none.' }),
    status: z.enum(['running', 'succeeded', 'failed']),
    error: z.strictObject({ message: z.string() }).optional().meta({ description: 'Why it failed.' }),
    progress: jobProgress,
  })
  .meta({ id: 'ListedJob' });

const operation: Operation = {
  operationId: 'listJobs',
  tag: 'Jobs',
  summary: 'List jobs',
  description:
    "A page of the team's jobs of the last 7 days, newest first: 1,000 unless the request asks for fewer. The list has each request that was answered with " +
    'the ID of a job. `GET /jobs/{jobID}` has its result. The token of an app sees the jobs of tokens of that app. A page may ' +
    'have fewer jobs than `limit` although it has a `continuation`.',
  answers: {
    200: {
      description: 'Jobs, and the continuation.',
      body: jsonContent(z.strictObject({ data: z.array(listedJob), continuation }), {
        'an import of a stash, and what could not be added': {
          data: [
            {
              id: exampleJobId,
              operation: 'createTable',
              created: '2026-01-02T03:04:05.678Z',
              tableID: null,
              stashID: 'import-7',
              status: 'running',
              progress: { phase: 'waiting', rowsDone: 0, rowsTotal: null, eventsAhead: 12 },
            },
            {
              id: exampleJobId,
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

function addListJobs(app: App, { jobs, tables, shares }: JobsRouteDependencies): void {
  app.get(
    '/jobs',
    {
      schema: { querystring: pageQuery('jobs', pageJobsMax) },
      config: { operation, duringQuarantine: true },
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
      // A request may have named a table that does not exist, or that belongs to another team.
      const known = await tables.idsAmong(
        teamId,
        page.jobs.flatMap((listed) => tableOf(listed) ?? []),
      );
      const body = JSON.stringify({
        data: page.jobs.map((listed) => present(jobs, listed, known)),
        ...(page.next === null ? {} : { continuation: page.next }),
      });
      outgoing.shrink(Buffer.byteLength(body));
      return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(body);
    },
  );
}

/**
 * The table that a job changes or creates. With an Idempotency-Key, a created table has the ID that the first try gave
 * it.
 */
function tableOf({ note, state }: ListedJob): string | null {
  return (state.status === 'succeeded' ? state.result.tableId : undefined) ?? note.tableId;
}

/** A job in a list. `known`: the IDs of the tables that exist. */
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

export function addJobRoutes(app: App, dependencies: JobsRouteDependencies): void {
  addListJobs(app, dependencies);
  addSingleJobRoutes(app, dependencies);
}
