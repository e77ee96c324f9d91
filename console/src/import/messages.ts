/** What the page and the worker that reads a file tell each other. A worker has one task. */
import type { ImportTarget, OnSchemaError } from '../../../clients/typescript/src/index.ts';
import type { Format } from '../../../clients/file-import/file-format.ts';
import type { ImportResult } from '../../../clients/file-import/import-file.ts';
import type { Preview } from '../../../clients/file-import/preview.ts';
import type { ExpectedColumn, WidenedColumn } from '../../../clients/file-import/widened-columns.ts';
import type { TextColumn } from '../../../src/language/formats/text-cells.ts';
import type { DelimitedForm } from '../../../src/language/formats/delimited-form.ts';

/** How a file is read. */
export interface Reading {
  readonly file: File;
  readonly format: Format;
  /** What the person said of a CSV or TSV file; nothing of another one. */
  readonly form: DelimitedForm;
  /** The name of the sheet of a workbook; undefined: the first that is not hidden. */
  readonly sheet: string | undefined;
  /** Of the text, unless it begins with a byte order mark. */
  readonly encoding: string;
  readonly onSchemaError: OnSchemaError;
}

/** A file, and where its rows go. */
export interface ImportRequest extends Reading {
  readonly url: string;
  readonly token: string;
  readonly target: ImportTarget;
  /** The columns as the person expects them; empty if the import changes no types. */
  readonly expected: readonly ExpectedColumn[];
}

export interface ImportOutcome {
  readonly result: ImportResult;
  /** Columns that the file gave another type than expected. */
  readonly widened: readonly WidenedColumn[];
  /**
   * Columns of a new table that came to be text because of some cells of the file; the places of these are its lines.
   */
  readonly texts: readonly TextColumn[];
  /** Why it is unknown whether there are more of them; null if it is known. */
  readonly problem: Failure | null;
}

export type ToWorker =
  | { readonly kind: 'preview'; readonly reading: Reading }
  | { readonly kind: 'import'; readonly request: ImportRequest }
  | { readonly kind: 'cancel' };

export interface ImportProgress {
  readonly rows: number;
  /** Of the file, as it is stored. */
  readonly bytes: number;
}

/** Why it was not done. */
export interface Failure {
  /** In the file, from 1; null if a line has no meaning. */
  readonly line: number | null;
  readonly text: string;
  readonly isCanceled: boolean;
  /** Whether somebody else has changed the table since it was shown. */
  readonly isConflict?: boolean;
}

export type FromWorker =
  | { readonly kind: 'progress'; readonly progress: ImportProgress }
  /** No connection, a rate limit, or the service is busy: it is tried again. `reason`: as it is shown. */
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'previewed'; readonly preview: Preview }
  | { readonly kind: 'imported'; readonly outcome: ImportOutcome }
  | { readonly kind: 'failed'; readonly failure: Failure };
