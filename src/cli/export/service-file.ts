/** Exports that the service writes as a whole, at one version of the table, with row IDs. */
import type { Tablog, TableSummary } from '../../../clients/typescript/src/index.ts';
import type { WholeFormat } from '../file-format.ts';
import { showNumber } from '../rows-progress.ts';
import { UserError } from '../user-error.ts';
import { writeToFile, writeToStdout } from './destination.ts';

interface WholeExport {
  readonly format: WholeFormat;
  readonly client: Tablog;
  readonly table: TableSummary;
  /** Null: stdout. */
  readonly file: string | null;
  readonly signal: AbortSignal;
}

/**
 * Writes the file. Resolves to a description of the result, or null if the reader closed stdout. Rejects with
 * UserError.
 */
export async function exportWhole({ format, client, table, file, signal }: WholeExport): Promise<string | null> {
  if (file === null && process.stdout.isTTY)
    throw new UserError(
      `${format === 'xlsx' ? 'A workbook' : 'Parquet'} is binary and cannot be shown in a terminal: give --output <file>.`,
    );
  const { data, version } = await client.table(table.id).export(format);
  const written = { bytes: 0 };
  const bytes = bytesOf(data, written, signal);
  if (file !== null) await writeToFile(file, bytes, null, signal);
  else if (!(await writeToStdout(bytes, null, signal))) return null;
  return `The table ${JSON.stringify(table.name)} (${table.id}) written${file === null ? '' : ` to ${file}`}, version ${version.slice(1, -1)}, ${showNumber(written.bytes)} bytes`;
}

async function* bytesOf(
  file: ReadableStream<Uint8Array>,
  written: { bytes: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = file.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      written.bytes += value.length;
      yield value;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new UserError('The connection ended before the whole file had arrived. Try again.', { cause: error });
  } finally {
    // Cancel, so that the service stops writing a file that nobody reads. Cancelling fails if the connection has ended.
    await reader.cancel().catch(() => undefined);
  }
}
