/** Messages between the page and the worker that reads a file. A worker has one task. */
import type { ImportTarget, OnSchemaError } from '../../../clients/typescript/src/index.ts';
import type { Format } from '../../../clients/file-import/file-format.ts';
import type { ImportResult } from '../../../clients/file-import/import-file.ts';
import type { Preview } from '../../../clients/file-import/preview.ts';
import type { ExpectedColumn, WidenedColumn } from '../../../clients/file-import/widened-columns.ts';
import type { TextColumn } from '../../../src/language/formats/text-cells.ts';
import type { DelimitedForm } from '../../../src/language/formats/delimited-form.ts';

/** How to read a file. */
export interface Reading {
  readonly file: File;
  readonly format: Format;
  /** The form of a CSV or TSV file; empty for other files. */
  readonly form: DelimitedForm;
  /** The name of a sheet of a workbook; undefined: the first one that is not hidden. */
  readonly sheet: string | undefined;
  /** The encoding of the text, unless it begins with a byte order mark. */
  readonly encoding: string;
  readonly onSchemaError: OnSchemaError;
}

/** A file, and the target of its rows. */
export interface ImportRequest extends Reading {
  readonly url: string;
  readonly token: string;
  readonly target: ImportTarget;
  /** The columns that the person expects; empty if the import changes no types. */
  readonly expected: readonly ExpectedColumn[];
}

export interface ImportOutcome {
  readonly result: ImportResult;
  /** Columns whose type the import widened beyond the expected one. */
  readonly widened: readonly WidenedColumn[];
  /** Columns of a new table that became text because of some cells. The places of these cells are lines of the file. */
  readonly texts: readonly TextColumn[];
  /** Why these lists may be incomplete; null if they are complete. */
  readonly problem: Failure | null;
}

export type ToWorker =
  | { readonly kind: 'preview'; readonly reading: Reading }
  | { readonly kind: 'import'; readonly request: ImportRequest }
  | { readonly kind: 'cancel' };

export interface ImportProgress {
  readonly rows: number;
  /** Bytes of the file as it is stored. */
  readonly bytes: number;
}

/** Why the task failed. */
export interface Failure {
  /** The line in the file, from 1; null if no line applies. */
  readonly line: number | null;
  readonly text: string;
  readonly isCanceled: boolean;
  /** Whether somebody else has changed the table since the page showed it. */
  readonly isConflict?: boolean;
}

export type FromWorker =
  | { readonly kind: 'progress'; readonly progress: ImportProgress }
  /**
   * An attempt failed because of the connection, a rate limit or a busy service, and will be repeated. `reason`: a text
   * to show.
   */
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'previewed'; readonly preview: Preview }
  | { readonly kind: 'imported'; readonly outcome: ImportOutcome }
  | { readonly kind: 'failed'; readonly failure: Failure };
