/** The body of a request without rows: one object, read as strictly as the members around rows are. */
import type { Envelope } from './envelope-reader.ts';
import { JsonRowReader } from './json-row-reader.ts';
import { MalformedBody } from './malformed-body.ts';

/** The members by key. Throws MalformedBody. */
export function readMembers(bytes: Uint8Array): Envelope {
  const reader = new JsonRowReader({ form: 'envelope' });
  reader.push(bytes);
  const { envelope, hasRows } = reader.end();
  if (envelope === null) throw new MalformedBody('request_validation_error', 'the body must be an object');
  if (hasRows) throw new MalformedBody('request_validation_error', 'rows: there is no such property here');
  return envelope;
}
