/** Types for the used part of a package that has none. */
declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream';
  import type { Submittable } from 'pg';

  /** For `query` of a client: takes the rows of `COPY ... FROM STDIN`, and finishes when they are stored. */
  export function from(statement: string): Writable & Submittable;

  /** For `query` of a client: the text of `COPY ... TO STDOUT`. */
  export function to(statement: string): Readable & Submittable;
}
