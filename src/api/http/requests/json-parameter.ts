import { readMembersExactly } from '../../../language/formats/read-members.ts';

/** Parses JSON in a URL as strictly as JSON in a body. Throws SyntaxError and MalformedBody. */
export function parseStrictly(text: string): unknown {
  // Makes sure that the text is one value, so that it cannot end the object around it.
  JSON.parse(text);
  return readMembersExactly(Buffer.from(`{"value":${text}}`), ['value'])['value'];
}
