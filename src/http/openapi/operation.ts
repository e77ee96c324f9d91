/** What a route says of itself in the OpenAPI document. What follows from its method, path, query and body is added to it. */
import type { z } from 'zod';
import type { ErrorType } from '../answers/http-error.ts';
import type { ResponseHeader } from './parameters.ts';

/** The parts of the interface, in the order in which the document has them. */
export const tags = {
  Tables: 'Tables and what they are made of.',
  Rows: 'The rows of a table, their versions, and changes to them.',
  Stashes: 'Rows that come in chunks, in parallel and in any order, and are imported in one step.',
  Uploads: 'Files, from their bytes to the public URL that a row can name.',
  Jobs: 'Requests that were answered before they were done.',
  Service: 'How a process is, and what it can do. Needs no token.',
} as const;

export interface Operation {
  /** Unique: generated clients have a method of this name. */
  readonly operationId: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  /** What `If-Match` is compared with; without it the operation does not know the header. */
  readonly ifMatch?: 'row' | 'table';
  /** Whether it takes `x-service-asynchronous`. */
  readonly asynchronous?: boolean;
  /** Whether it is a command, which appends an event; without it all are but GET and HEAD. */
  readonly isCommand?: boolean;
  readonly body?: Contents;
  /** Whether the body is kept byte for byte, so that it cannot come compressed. */
  readonly isBodyKept?: boolean;
  /** What it answers when it succeeds, by status; with 206 it knows `Range`, with 304 `If-None-Match`. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Its errors, beside those that follow from the rest (`errorTypesOf`). */
  readonly errors?: readonly ErrorType[];
}

export interface Answer {
  readonly description: string;
  /** Whether it carries a version as ETag. A GET or HEAD that does knows `If-None-Match`. */
  readonly versioned?: boolean;
  /** Its headers beside those of a version; and those that it has now and then. */
  readonly headers?: readonly ResponseHeader[];
  readonly headersAtTimes?: readonly ResponseHeader[];
  /** None for an empty body. */
  readonly body?: Contents;
}

/** What a body may be, by media type. */
export type Contents = Readonly<Record<string, Content>>;

export interface Content {
  readonly schema: z.ZodType;
  /** Examples by name. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** A body of JSON. */
export function json(schema: z.ZodType, examples: Content['examples']): Contents {
  return { 'application/json': { schema, examples } };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route of the service has one. */
    operation?: Operation;
  }
}
