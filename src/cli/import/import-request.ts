/** The parts of an import request beside the rows (spec 4.13). */
import type { ImportTarget, OnSchemaError, Version } from '../../../clients/typescript/src/index.ts';
import { UserError } from '../user-error.ts';

export const onSchemaErrors: readonly OnSchemaError[] = ['abort', 'dropColumns', 'updateSchema'];

/** The target of an import, with the name of the table. */
export type NamedImportTarget = ImportTarget & { readonly name: string };

/** Parses 7, "7" or W/"7" as the version `"7"`. Throws UserError for anything else. */
export function parseVersion(text: string): Version {
  const version = /^(?:W\/)?"?(\d+)"?$/.exec(text)?.[1];
  if (version === undefined) throw new UserError('--if-match: it must be a version: a whole number, like 7 or "7".');
  return `"${version}"` as Version;
}
