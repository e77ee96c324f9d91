/** What is asked for with the rows of a file (spec 4.13). */
import type { ImportTarget, OnSchemaError, Version } from '../../../clients/typescript/src/index.ts';
import { UserError } from '../user-error.ts';

export const onSchemaErrors: readonly OnSchemaError[] = ['abort', 'dropColumns', 'updateSchema'];

/** Where the rows go, with the name of the table. */
export type Target = ImportTarget & { readonly name: string };

/** `"7"` for 7 and for "7". Throws UserError for an invalid version. */
export function parseVersion(text: string): Version {
  const version = /^(?:W\/)?"?(\d+)"?$/.exec(text)?.[1];
  if (version === undefined) throw new UserError('--if-match: it must be a version, a whole number as an ETag has it.');
  return `"${version}"` as Version;
}
