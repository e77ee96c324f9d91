/** The request that imports the rows of a stash (spec 4.13), and its outcome. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ServerRefusal, notTablog } from '../client/server-error.ts';
import { parseJson, versionOf, type TablogClient } from '../client/tablog-client.ts';
import { UserError } from '../run-to-end.ts';

export type OnSchemaError = 'abort' | 'dropColumns' | 'updateSchema';
export const onSchemaErrors: readonly OnSchemaError[] = ['abort', 'dropColumns', 'updateSchema'];

export type Target =
  | { readonly kind: 'create'; readonly name: string }
  | { readonly kind: 'add' | 'overwrite'; readonly id: string; readonly name: string; readonly ifMatch: string | null };

export interface Imported {
  readonly tableId: string;
  /** The version of the table with these rows. */
  readonly version: string;
  /** How many cells were dropped; undefined where none may be. */
  readonly droppedCells?: number | undefined;
}

const acceptedBody = z.object({ data: z.object({ jobID: z.string() }) });
const progressBody = z.object({ data: z.object({ phase: z.enum(['waiting', 'done', 'failed']), cellsDropped: z.number().optional() }) });
const failedBody = z.object({ data: z.object({ error: z.object({ message: z.string() }) }) });
const pollMs = 1000;

/**
 * Requests the import and waits until it is done. An idempotency key makes it safe to retry.
 * @throws ServerRefusal, ServerAway
 */
export async function requestImport(
  client: TablogClient, stashId: string, target: Target, onSchemaError: OnSchemaError, signal: AbortSignal,
): Promise<Imported> {
  const { method, path, body } = requestOf(target, stashId, onSchemaError);
  const headers = {
    'content-type': 'application/json', 'idempotency-key': `tablog-import-${randomUUID()}`, 'x-service-asynchronous': 'true',
    ...(target.kind === 'create' || target.ifMatch === null ? {} : { 'if-match': target.ifMatch }),
  };
  const answer = await client.request(method, path, { headers, body: JSON.stringify(body) }, (response) => readAnswer(response, target));
  if (answer.kind === 'done') return answer.imported;
  const droppedCells = await untilJobEnds(client, answer.jobId, signal);
  // A job does not have the version; this one is that of the import, or a later one.
  const version = await client.request('HEAD', `/tables/${answer.tableId}/rows`, {}, async (response) => versionOf(response));
  return { tableId: answer.tableId, version, droppedCells };
}

function requestOf(target: Target, stashId: string, onSchemaError: OnSchemaError): { method: string; path: string; body: object } {
  const rows = { $stashID: stashId };
  const query = new URLSearchParams({ onSchemaError });
  switch (target.kind) {
    case 'create': {
      query.set('name', target.name);
      return { method: 'POST', path: `/tables?${query}`, body: { rows } };
    }
    case 'add': return { method: 'POST', path: `/tables/${target.id}/rows?${query}`, body: rows };
    case 'overwrite': return { method: 'PUT', path: `/tables/${target.id}?${query}`, body: rows };
  }
}

type Answer =
  | { readonly kind: 'done'; readonly imported: Imported }
  | { readonly kind: 'job'; readonly jobId: string; readonly tableId: string };

async function readAnswer(response: Response, target: Target): Promise<Answer> {
  const tableIdIn = (beginning: string): string => {
    if (target.kind !== 'create') return target.id;
    const tableId = /^\{"data":\{"tableID":"([^"]+)"/.exec(beginning)?.[1];
    if (tableId === undefined) throw notTablog(response.status);
    return tableId;
  };
  if (response.status === 202) {
    const text = await response.text();
    const accepted = acceptedBody.safeParse(parseJson(text));
    if (!accepted.success) throw notTablog(response.status);
    return { kind: 'job', jobId: accepted.data.data.jobID, tableId: tableIdIn(text) };
  }
  const version = versionOf(response);
  const dropped = response.headers.get('tablog-dropped-cells');
  const droppedCells = dropped === null ? undefined : Number(dropped);
  return { kind: 'done', imported: { version, tableId: tableIdIn(await readBeginning(response)), droppedCells } };
}

/** Only the table ID at the beginning is needed: the answer goes on with the IDs of all rows. */
async function readBeginning(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let beginning = '';
  for await (const piece of response.body ?? []) {
    beginning += decoder.decode(piece, { stream: true });
    if (beginning.length > 256) break;
  }
  return beginning;
}

/** Polls the progress, because the job itself lists the ID of every row; resolves to how many cells were dropped. Throws ServerRefusal if the job fails. */
async function untilJobEnds(client: TablogClient, jobId: string, signal: AbortSignal): Promise<number | undefined> {
  const path = `/jobs/${encodeURIComponent(jobId)}`;
  for (;;) {
    const { data: { phase, cellsDropped } } = await client.get(`${path}/progress`, progressBody);
    if (phase === 'done') return cellsDropped;
    if (phase === 'failed') {
      const { data: { error } } = await client.get(path, failedBody);
      throw new ServerRefusal(null, null, error.message);
    }
    await sleep(pollMs, undefined, { signal });
  }
}

/** `"7"` for 7 and for "7". Throws UserError for an invalid version. */
export function parseVersion(text: string): string {
  const version = /^(?:W\/)?"?(\d+)"?$/.exec(text)?.[1];
  if (version === undefined) throw new UserError('--if-match: it must be a version, a whole number as an ETag has it.');
  return `"${version}"`;
}
