/** Reads the body of a request without rows: one object, as strictly as the members around rows. */
import type { BodyMembers, ParseMember } from './envelope-reader.ts';
import { parseExactly } from './exact-json.ts';
import { JsonRowReader, type JsonRowReaderOptions } from './json-row-reader.ts';
import { MalformedBody } from '../values/malformed-body.ts';

/** The members by key. Throws MalformedBody. */
export function readMembers(bytes: Uint8Array): BodyMembers {
  return read(bytes, { form: 'envelope' });
}

/** Like `readMembers`; the numbers in these members keep their digits (`parseExactly`). Throws MalformedBody. */
export function readMembersExactly(bytes: Uint8Array, exactKeys: readonly string[]): BodyMembers {
  const parseMember: ParseMember = (json, key) =>
    exactKeys.includes(key) ? parseExactly(json) : (JSON.parse(json) as unknown);
  return read(bytes, { form: 'envelope', parseMember });
}

function read(bytes: Uint8Array, options: JsonRowReaderOptions): BodyMembers {
  const reader = new JsonRowReader(options);
  reader.push(bytes);
  const { envelope, hasRows } = reader.end();
  if (envelope === null) throw new MalformedBody('request_validation_error', 'the body must be an object');
  if (hasRows) throw new MalformedBody('request_validation_error', 'rows: there is no such property here');
  return envelope;
}
