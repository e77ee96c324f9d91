/** What a connection learns from answers: the IDs and versions that its later requests name. */
import type { RawAnswer } from './answers.ts';
import type { FuzzRequest } from './requests.ts';
import { remember, type Things } from './things.ts';

interface Data {
  readonly id?: string;
  readonly tableID?: string;
  readonly jobID?: string;
  readonly rowIDs?: readonly string[];
  readonly uploadID?: string;
  readonly uploadLocation?: string;
  readonly url?: string;
}

const versionsRemembered = 3;

/** Adds what a successful answer names to the things of the connection. */
export function learn(
  things: Things,
  { operationId, target }: FuzzRequest,
  { status, headers, body }: RawAnswer,
): void {
  if (status >= 300 || operationId === null) return;
  const [, kind, id, , uploadId] = target.split('?', 1)[0]!.split('/');
  if (operationId === 'deleteTable') things.deleteTable(id!);
  const parsed =
    headers.get('content-type')?.startsWith('application/json') === true && body.length > 0
      ? (JSON.parse(body.toString()) as { data?: Data; continuation?: string })
      : {};
  const { data = {}, continuation } = parsed;
  if (operationId === 'createTeam') remember(things.madeTeams, data.id!);
  if (operationId === 'createTeamToken' || operationId === 'createOperatorToken') remember(things.madeTokens, data.id!);
  if (data.jobID !== undefined) remember(things.jobs, data.jobID);
  if (operationId === 'createTable' && data.tableID !== undefined) things.addTable(data.tableID, data.rowIDs ?? []);
  if (data.uploadLocation !== undefined) {
    const { pathname, search, searchParams } = new URL(data.uploadLocation);
    remember(things.uploads, {
      id: data.uploadID!,
      app: decodeURIComponent(id!),
      location: pathname + search,
      contentType: searchParams.get('contentType')!,
    });
  }
  if (operationId === 'completeUpload' && uploadId !== undefined && data.url !== undefined)
    remember(things.files, new URL(data.url).pathname);
  const table = things.tableOf(kind === 'tables' ? (id ?? data.tableID ?? '') : '');
  if (table === undefined) return;
  const etag = headers.get('etag');
  if (etag !== null) remember(table.etags, etag, versionsRemembered);
  if (continuation !== undefined) remember(table.continuations, continuation, versionsRemembered);
  const listed = Array.isArray(data) ? (data as { $rowID: string }[]).map(({ $rowID }) => $rowID) : (data.rowIDs ?? []);
  for (const rowId of listed.slice(0, 10)) remember(table.rowIds, rowId);
}
