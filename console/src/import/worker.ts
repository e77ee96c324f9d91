/** A worker that reads a file for a preview or imports it, so that the page stays responsive. */
import { importFile, type ImportResult } from '../../../clients/file-import/import-file.ts';
import { preview } from '../../../clients/file-import/preview.ts';
import { sourceOfBlob } from '../../../clients/file-import/source-of-blob.ts';
import { readTypes } from '../../../clients/file-import/read-types.ts';
import { findWidened, type WidenedColumn } from '../../../clients/file-import/widened-columns.ts';
import { Tablog, Unreachable, type Table } from '../../../clients/typescript/src/index.ts';
import type { TextColumn } from '../../../src/language/formats/text-cells.ts';
import { textOfType } from '../tables/column-types.ts';
import { describeError } from '../ui/describe-error.ts';
import { describeFailure } from './describe-failure.ts';
import type { FromWorker, ImportOutcome, ImportRequest, Reading, ToWorker } from './messages.ts';

/** How many chunks are uploaded in parallel. */
const parallel = 3;
/** Minimum interval between two progress messages, in milliseconds. */
const reportEveryMs = 100;

const stopping = new AbortController();
const { signal } = stopping;

function tell(message: FromWorker): void {
  postMessage(message);
}

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'cancel') stopping.abort(new Error('The import was canceled.'));
  else void run(data);
});

async function run(task: Exclude<ToWorker, { readonly kind: 'cancel' }>): Promise<void> {
  try {
    if (task.kind === 'preview') tell({ kind: 'previewed', preview: await previewOf(task.reading) });
    else await runImport(task.request);
  } catch (error) {
    tell({ kind: 'failed', failure: describeFailure(error, signal.aborted) });
  }
}

function previewOf({ file, format, form, sheet, encoding, onSchemaError }: Reading): ReturnType<typeof preview> {
  return preview(sourceOfBlob(file), { format, form, sheet, encoding, onSchemaError, signal });
}

async function runImport(request: ImportRequest): Promise<void> {
  const { file, format, form, sheet, encoding, onSchemaError, url, token, target } = request;
  const client = new Tablog({
    url,
    token,
    signal,
    patienceMs: Infinity,
    limitWaitMs: Infinity,
    onRetry: (reason) =>
      tell({
        kind: 'waiting',
        reason: reason instanceof Unreachable ? 'Waiting for the connection …' : `Waiting: ${describeError(reason)}`,
      }),
  });
  let reportedAt = -Infinity;
  let last = { rows: 0, bytes: 0 };
  const report = (): void => {
    reportedAt = performance.now();
    tell({ kind: 'progress', progress: last });
  };
  const result = await importFile({
    client,
    source: sourceOfBlob(file),
    format,
    form,
    sheet,
    encoding,
    target,
    onSchemaError,
    parallel,
    signal,
    onProgress: (rows, bytes) => {
      last = { rows, bytes };
      if (bytes === file.size || performance.now() - reportedAt >= reportEveryMs) report();
    },
    // The preview has shown it already.
    onRecognised: () => undefined,
    onDeleted: () => undefined,
    // The service deletes the rest when it expires.
    onLeftOver: () => undefined,
  });
  tell({ kind: 'imported', outcome: { result, ...(await changedBy(request, result, client.table(result.tableID))) } });
}

/** The changes of columns. Never rejects, because the rows are in the table already. */
async function changedBy(
  request: ImportRequest,
  { texts }: ImportResult,
  table: Table,
): Promise<Omit<ImportOutcome, 'result'>> {
  try {
    return {
      widened: await widenedBy(request, table),
      texts: request.target.kind === 'create' && texts.length > 0 ? await textsOf(request) : [],
      problem: null,
    };
  } catch (error) {
    return { widened: [], texts: [], problem: describeFailure(error, signal.aborted) };
  }
}

async function widenedBy(
  { file, format, form, sheet, encoding, expected }: ImportRequest,
  table: Table,
): Promise<WidenedColumn[]> {
  if (expected.length === 0) return [];
  const { schema } = await table.describe();
  const now = new Map(schema.columns.map(({ id, type }) => [id, textOfType(type)]));
  return findWidened(() => sourceOfBlob(file), { format, form, sheet, encoding, signal }, expected, now);
}

async function textsOf({
  file,
  format,
  form,
  sheet,
  encoding,
  onSchemaError,
}: ImportRequest): Promise<readonly TextColumn[]> {
  return (
    await readTypes(sourceOfBlob(file), {
      format,
      form,
      sheet,
      encoding,
      onSchemaError,
      signal,
      onRecognised: () => undefined,
    })
  ).texts;
}
