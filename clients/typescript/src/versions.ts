/** Versions, with which a program changes only what it has seen (RFC 9110, 13.1.1). */
import { notTablog } from './errors.ts';

declare const version: unique symbol;

/** The version of a table or a row: the ETag of an answer, for `ifMatch`. It rises with each change. */
export type Version = string & { readonly [version]: true };

/** Data and its version. */
export interface Versioned<T> {
  readonly data: T;
  readonly version: Version;
}

/** The version of an answer. Throws TablogError if it has none. */
export function versionOf(response: Response): Version {
  // A proxy that compresses answers makes their ETags weak.
  const version = /^(?:W\/)?("\d+")$/.exec(response.headers.get('etag') ?? '')?.[1];
  if (version === undefined) throw notTablog(response.status);
  return version as Version;
}

/**
 * The headers of a request that takes effect only if nothing has changed since this version. Undefined: no
 * precondition.
 */
export function ifMatch(version: Version | undefined): { readonly 'If-Match'?: string } {
  return version === undefined ? {} : { 'If-Match': version };
}
