import { readMembersExactly } from '../../../language/formats/read-members.ts';

/** JSON in a URL, which is read as strictly as in a body. Throws SyntaxError and MalformedBody. */
export function parseStrictly(text: string): unknown {
  // It is one value: the object around it cannot end early.
  JSON.parse(text);
  return readMembersExactly(Buffer.from(`{"value":${text}}`), ['value'])['value'];
}
