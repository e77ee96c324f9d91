/**
 * The description of a route in the OpenAPI document. What follows from its method, path, query and body is added to
 * it.
 */
import type { z } from 'zod';
import type { ErrorType } from '../answers/error-types.ts';
import type { ResponseHeader } from './headers.ts';

/** The parts of the interface, in document order. */
export const tags = {
  Tables: 'Tables and what they are made of.',
  Rows: 'The rows of a table, their versions, and changes to them.',
  Stashes: 'Rows that come in chunks, in parallel and in any order, and are imported in one step.',
  Uploads: 'Files, from their bytes to the public URL that a row can name.',
  Jobs: 'Requests that were answered before they were done.',
  Team: 'What a token may do, and how its team uses the service.',
  Operators: 'Teams, plans, tokens and the log, for those who operate the service. Needs the token of an operator.',
  Service: 'How a process is, and what it can do. Needs no token.',
} as const;

export interface Operation {
  /** Unique: generated clients name a method after it. */
  readonly operationId: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  /**
   * Its path parameters by name, besides `tableID` and those that the route validates. A malformed ID is answered like
   * an unknown one.
   */
  readonly path?: Readonly<Record<string, z.ZodType>>;
  /** What `If-Match` is compared with; absent: the operation ignores the header. */
  readonly ifMatch?: 'row' | 'table';
  /** Whether it supports `x-service-asynchronous`. */
  readonly asynchronous?: boolean;
  /** Whether it is a command, which appends an event; by default all but GET and HEAD are. */
  readonly isCommand?: boolean;
  /** Whether it reads only, so that tokens for reading may use it; by default GET and HEAD do. */
  readonly isRead?: boolean;
  /** Whether it is about the whole team, so that tokens of an app may not use it. */
  readonly isOfTeam?: boolean;
  /** The query parameter that says which media type the answer has, whatever `Accept` says. */
  readonly formatParameter?: string;
  readonly body?: Contents;
  /** Whether the body is stored byte for byte, so that it must not be compressed. */
  readonly isBodyKept?: boolean;
  /** Successful answers by status; 206 implies `Range`, 304 implies `If-None-Match`. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Its errors, besides the implied ones (`errorTypesOf`). */
  readonly errors?: readonly ErrorType[];
}

export interface Answer {
  readonly description: string;
  /** Whether it carries a version as ETag. A GET or HEAD with one supports `If-None-Match`. */
  readonly versioned?: boolean;
  /** Headers besides those of a version; and those that are sent only sometimes. */
  readonly headers?: readonly ResponseHeader[];
  readonly headersAtTimes?: readonly ResponseHeader[];
  /** Absent: an empty body. */
  readonly body?: Contents;
  /** What a client can ask next with the IDs in the answer. */
  readonly links?: readonly Link[];
}

/** An operation that takes what an answer, or its request, has. */
export interface Link {
  readonly operationId: string;
  /** Where the values of path parameters stand, by name. */
  readonly parameters?: Readonly<Record<string, `$${string}`>>;
  /** A body; in braces within its texts stands where a value is. */
  readonly requestBody?: object;
}

/** The alternatives for a body, by media type. */
export type Contents = Readonly<Record<string, Content>>;

export interface Content {
  readonly schema: z.ZodType;
  /** Examples by name. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** A JSON body. */
export function jsonContent(schema: z.ZodType, examples: Content['examples']): Contents {
  return { 'application/json': { schema, examples } };
}

/** Operations that take the same parameters. */
export function linksTo(operationIds: readonly string[], parameters: NonNullable<Link['parameters']>): Link[] {
  return operationIds.map((operationId) => ({ operationId, parameters }));
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route of the service has one. */
    operation?: Operation;
  }
}
