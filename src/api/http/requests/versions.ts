/** Versions on the wire: `ETag`, `If-Match`, `If-None-Match` (spec section 9, decisions sections 1 and 4). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { varyBy } from '../answers/vary.ts';
import { parseOrRefuse } from './validation.ts';

const versionMax = 2n ** 63n - 1n;

/**
 * The header `If-Match`: `"n"`, or `W/"n"`, because proxies may weaken it. A version beyond the maximum counts as the
 * maximum.
 */
export const ifMatchHeader = z
  .string()
  .regex(/^(W\/)?"[0-9]+"$/, 'must be a version in quotes, like "42"')
  .transform((tag) => {
    const version = BigInt(tag.slice(tag.indexOf('"') + 1, -1));
    return version < versionMax ? version : versionMax;
  });

/** The header `If-None-Match`: `*`, which gives null, or a list of entity tags without their weak prefix. */
export const ifNoneMatchHeader = z
  .string()
  .regex(/^(\*|(W\/)?"[^"]*"([ \t]*,[ \t]*(W\/)?"[^"]*")*[ \t]*(,[ \t]*)?)$/, 'must be * or a list of entity tags')
  .transform((list) => (list === '*' ? null : list.match(/"[^"]*"/g)!));

/** The header `If-Range`: an entity tag, or a date. No file matches a date here. */
export const ifRange = z
  .string()
  .regex(
    /^((W\/)?"[^"]*"|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT)$/,
    'must be an entity tag or a date',
  );

/** The version of `If-Match`, if the request has that header. Throws HttpError for a malformed header. */
export function readIfMatch(request: FastifyRequest): bigint | undefined {
  const value = request.raw.headers['if-match'];
  return value === undefined ? undefined : parseOrRefuse(ifMatchHeader, value, 'If-Match');
}

/** The entity tag of a version. */
function formatEtag(version: bigint): string {
  return `"${version}"`;
}

/** Adds the version to a response, with the headers for caches. */
export function setVersion(reply: FastifyReply, version: bigint): FastifyReply {
  return varyBy(reply, 'Accept-Encoding', 'Authorization')
    .header('etag', formatEtag(version))
    .header('cache-control', 'private, no-cache');
}

/**
 * Returns a function that tests whether the client has a version already, so that the answer is 304. Call it before any
 * look-up: it throws HttpError for a malformed header, and a malformed request is refused before a missing resource
 * (docs/spec/decisions.md 6).
 */
export function readIfNoneMatch(request: FastifyRequest): (version: bigint) => boolean {
  const hasTag = readKnownTags(request);
  return (version) => hasTag(formatEtag(version));
}

/** Like `readIfNoneMatch`, for any entity tag. Throws HttpError for a malformed header. */
export function readKnownTags(request: FastifyRequest): (etag: string) => boolean {
  const value = request.raw.headers['if-none-match'];
  if (value === undefined) return hasNone;
  const tags = parseOrRefuse(ifNoneMatchHeader, value, 'If-None-Match');
  return (etag) => tags === null || tags.includes(etag);
}

/**
 * Returns a function that tests whether `If-Range` allows a part of the file with this entity tag. Without `If-Range`
 * it does. Throws HttpError for a malformed header.
 */
export function readIfRange(request: FastifyRequest): (etag: string) => boolean {
  const value = request.raw.headers['if-range'];
  if (value === undefined) return () => true;
  const tag = parseOrRefuse(ifRange, value, 'If-Range');
  return (etag) => etag === tag;
}

const hasNone = (): boolean => false;

/** Answers 304 with the version. */
export function replyNotModified(reply: FastifyReply, version: bigint): FastifyReply {
  return setVersion(reply, version).code(304).send();
}
