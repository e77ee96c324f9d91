/** Code that the routes of operators share (docs/spec/operators.md). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { TeamQueries, TeamSummary } from '../../../../projections/teams/teams.queries.ts';
import { normalId } from '../../../administration/ids.ts';
import {
  recordAction,
  type AuditAction,
  type AuditDetails,
  type AuditLog,
} from '../../../administration/audit/audit-log.ts';
import type { Database } from '../../../storage/database/database.ts';
import { readMembers } from '../../../language/formats/read-members.ts';
import { AppendUnknown, type EventLog } from '../../../log/event-log.ts';
import { errorTypeOf } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { ClientGone, collectBody } from '../bodies/request-body.ts';
import { formatListContinuation, parseListContinuation } from '../requests/continuation.ts';
import { originOf } from '../requests/origin.ts';
import { parseOrRefuse } from '../requests/validation.ts';

export interface OperatorsDependencies {
  readonly log: EventLog;
  readonly teams: TeamQueries;
  readonly database: Database;
  readonly audit: AuditLog;
}

/** Maximum of bytes of a body. */
const bodyBytesMax = 64 * 1024;

/** Throws HttpError for a body that is no JSON object, or does not match the schema. */
export async function readBody<S extends z.ZodType>(request: FastifyRequest, schema: S): Promise<z.output<S>> {
  readMediaType(request, ['application/json']);
  return parseOrRefuse(schema, readMembers(await collectBody(request, bodyBytesMax)), '');
}

/** Answers with `{data}`, which no cache keeps. `more`: members beside `data`. */
export function replyWith(reply: FastifyReply, data: unknown, more: object = {}): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(JSON.stringify({ data, ...more }));
}

/**
 * Answers with a page of a list. `read` returns the items after an ID. `list` distinguishes its continuations from
 * those of other lists.
 */
export async function replyWithPage<T extends { readonly id: string }>(
  reply: FastifyReply,
  list: string,
  { limit, continuation }: { readonly limit: number; readonly continuation?: string | undefined },
  read: (after: string | null, limit: number) => Promise<readonly T[]>,
  show: (item: T) => object,
): Promise<FastifyReply> {
  const after = continuation === undefined ? null : parseListContinuation(list, continuation);
  const found = await read(after, limit + 1);
  const page = found.slice(0, limit);
  return replyWith(
    reply,
    page.map(show),
    found.length > limit ? { continuation: formatListContinuation(list, page.at(-1)!.id) } : {},
  );
}

/** The team of the path. Throws HttpError `team_not_found`. */
export async function teamOfPath(teams: TeamQueries, request: FastifyRequest): Promise<TeamSummary> {
  const teamId = normalId((request.params as { readonly teamID: string }).teamID);
  const team = teamId === null ? null : await teams.team(teamId);
  if (team === null) throw new HttpError('team_not_found', 'There is no such team.');
  return team;
}

/**
 * Runs an operator's action and writes a line to the audit log, whether it succeeds or fails. `work` adds to the
 * details what it finds out. Throws HttpError `outcome_unknown` if the outcome did not arrive in time.
 */
export async function auditedRequest<T>(
  audit: AuditLog,
  request: FastifyRequest,
  action: AuditAction,
  details: AuditDetails,
  work: (details: AuditDetails) => Promise<T>,
): Promise<T> {
  const who = { operatorTokenId: request.operator.tokenId, ...originOf(request) };
  return recordAction(
    audit,
    {
      action,
      who,
      details,
      nameOf: (error) => (error instanceof ClientGone ? 'failed' : (errorTypeOf(error) ?? 'failed')),
    },
    async () => {
      try {
        return await work(details);
      } catch (error) {
        if (!(error instanceof AppendUnknown)) throw error;
        throw new HttpError(
          'outcome_unknown',
          'The outcome did not arrive in time. The request may or may not take effect: check before you send it again.',
          {},
          { cause: error },
        );
      }
    },
  );
}
