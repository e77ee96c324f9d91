/**
 * The description of a route in the OpenAPI document. The document adds what follows from the route's method, path,
 * query and body.
 */
import type { z } from 'zod';
import type { ErrorType } from '../answers/error-types.ts';
import type { ResponseHeader } from './headers.ts';

/** The parts of the interface, in document order. */
export const tags = {
  Tables: 'Tables and their columns.',
  Rows: 'The rows of a table, their versions, and changes to them.',
  Stashes: 'Rows that a client sends in chunks, in parallel and in any order, and then imports in one step.',
  Uploads: 'Files: a client uploads them, and a row can name their public URLs.',
  Jobs: 'Requests that the service answered before they were done.',
  Team: "The rights of a token, and the team's use of the service.",
  Operators: 'Teams, plans, tokens and the log, for operators of the service. Needs the token of an operator.',
  Service: 'The health and the features of a process. Needs no token.',
} as const;

export interface Operation {
  /** Unique: generated clients name a method after it. */
  readonly operationId: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  /**
   * Its path parameters by name, without `tableID` and parameters that the route validates. A malformed ID gets the
   * same answer as an unknown one.
   */
  readonly path?: Readonly<Record<string, z.ZodType>>;
  /** What `If-Match` is compared with; absent: the operation ignores the header. */
  readonly ifMatch?: 'row' | 'table';
  /** Whether it supports `x-service-asynchronous`. */
  readonly asynchronous?: boolean;
  /** Whether it is a command, which appends an event; by default all but GET and HEAD are. */
  readonly isCommand?: boolean;
  /** Whether it only reads, so that tokens for reading may use it; by default GET and HEAD do. */
  readonly isRead?: boolean;
  /** Whether it concerns the whole team, so that tokens of an app may not use it. */
  readonly isOfTeam?: boolean;
  /** The query parameter that overrides the media type of `Accept`. */
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
  /** Headers besides those of a version. `headersAtTimes` are sent only sometimes. */
  readonly headers?: readonly ResponseHeader[];
  readonly headersAtTimes?: readonly ResponseHeader[];
  /** Absent: an empty body. */
  readonly body?: Contents;
  /** The operations that a client can call next with the IDs in the answer. */
  readonly links?: readonly Link[];
}

/** An operation that takes values of an answer or its request. */
export interface Link {
  readonly operationId: string;
  /** Runtime expressions for the values of path parameters, by name. */
  readonly parameters?: Readonly<Record<string, `$${string}`>>;
  /** A body. An expression in braces within its texts stands for a value. */
  readonly requestBody?: object;
}

/** The alternative forms of a body, by media type. */
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
    /** Every route of the service sets it. */
    operation?: Operation;
  }
}
