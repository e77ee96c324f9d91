/** Types for the used part of a package that has none. */
declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream';
  import type { Submittable } from 'pg';

  /** How many rows were copied, once the stream is at its end. */
  interface Counted {
    readonly rowCount: number;
  }

  /** For `query` of a client: takes the rows of `COPY ... FROM STDIN`, and finishes when they are stored. */
  export function from(statement: string): Writable & Submittable & Counted;

  /** For `query` of a client: the stream yields the output of `COPY ... TO STDOUT`. */
  export function to(statement: string): Readable & Submittable & Counted;
}
