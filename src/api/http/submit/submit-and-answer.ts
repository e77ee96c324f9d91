/**
 * Submits a write, waits for its outcome and answers it. If the client allows it, the answer may come before the
 * outcome (spec 4.2, decisions 3).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RowQueries } from '../../../../projections/tables/rows.queries.ts';
import type { PackedBody } from '../../../language/events/event-codec.ts';
import type { Remarks } from '../../../language/formats/row-reader.ts';
import { encloseResult } from '../answers/result-json.ts';
import { setDroppedCells, setOperationCounts, setRemarks } from '../answers/write-headers.ts';
import type { RequestIdentity } from './request-identity.ts';
import type { Submitter } from './submitter.ts';
import type { Submission } from './turned-away.ts';
import { parseOrRefuse } from '../requests/validation.ts';
import { setVersion } from '../requests/versions.ts';

const json = 'application/json; charset=utf-8';

/** The header `x-service-asynchronous`. */
const asynchronous = z.enum(['true', 'false'], { error: 'must be true or false' });

/** Whether the client accepts a job as the answer. Throws HttpError for a malformed header. */
export function readAsynchronous(request: FastifyRequest): boolean {
  const value = request.raw.headers['x-service-asynchronous'];
  return value !== undefined && parseOrRefuse(asynchronous, value, 'x-service-asynchronous') === 'true';
}

/** The dependencies of submitting and answering a write. */
export interface WriteDependencies {
  readonly submitter: Submitter;
  readonly rows: RowQueries;
}

export interface WriteRequest {
  readonly teamId: string;
  readonly identity: RequestIdentity;
  /** Whether the client accepts a job as the answer. */
  readonly asynchronous: boolean;
  /** The ID of the table that it creates; null if it creates none. */
  readonly newTable: string | null;
  /** Remarks on its body. */
  readonly remarks: Remarks;
  readonly event: Submission;
  readonly body?: PackedBody | undefined;
  /** How many rows it affects; null if not known yet. */
  readonly rows: number | null;
}

/**
 * Submits a write whose body has been read, and answers it: with its result and `status`, or 202 with its job if the
 * client accepts that and the outcome takes longer, or is unknown. Throws as `Submitter.submit` does.
 */
export async function submitAndAnswer(
  reply: FastifyReply,
  { submitter, rows: queries }: WriteDependencies,
  write: WriteRequest,
  status: 200 | 201,
): Promise<FastifyReply> {
  const { teamId, identity, newTable, remarks, event, body, rows } = write;
  const submitted = mayBeJob(write)
    ? await submitter.submitOrAccept(teamId, identity, event, body, rows)
    : await submitter.submit(teamId, identity, event, body, rows);
  if ('jobId' in submitted) return replyAccepted(setRemarks(reply, remarks), submitted.jobId, newTable);
  const data = await submitter.answering(submitted, (result) => {
    return encloseResult('{"data":', result, '}', (range) => queries.retainedIds(range));
  });
  const { droppedCells, operations } = submitted.result;
  setRemarks(setOperationCounts(setDroppedCells(reply, droppedCells), operations), remarks);
  return setVersion(reply, submitted.etag).code(status).type(json).send(data);
}

/**
 * With an Idempotency-Key, the first try in the log creates the table, and this may be another one. So the ID of the
 * table is unknown before the outcome.
 */
function mayBeJob({ asynchronous, newTable, identity }: WriteRequest): boolean {
  return asynchronous && !(newTable !== null && identity.digest !== null);
}

function replyAccepted(reply: FastifyReply, jobId: string, newTable: string | null): FastifyReply {
  const table = newTable === null ? {} : { tableID: newTable };
  return reply
    .code(202)
    .header('location', `/jobs/${jobId}`)
    .header('retry-after', '1')
    .header('cache-control', 'no-store')
    .type(json)
    .send(JSON.stringify({ data: { ...table, jobID: jobId } }));
}
