/**
 * Walks valid JSON in UTF-8 without parsing it: rows that the service has stored, on their way to CSV. `JsonScanner`
 * walks what clients send, and validates each byte. `json-text.ts` walks valid JSON in a string.
 */
import { backslash, blank, closeBrace, closeBracket, comma, openBrace, openBracket, quote } from './json-scanner.ts';

export function skipBlankBytes(json: Uint8Array, start: number): number {
  let at = start;
  while (json[at]! <= blank) at += 1;
  return at;
}

/** The index after the string that begins with the quote at `start`. */
export function stringEndInBytes(json: Uint8Array, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
  }
  return json.length;
}

/** The index after the value of a member of an object, which begins at `start`. */
export function valueEndInBytes(json: Uint8Array, start: number): number {
  const first = json[start];
  if (first === quote) return stringEndInBytes(json, start);
  return first === openBrace || first === openBracket ? nestedEnd(json, start) : wordEnd(json, start);
}

/** The index after an array or an object. */
function nestedEnd(json: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length;) {
    const byte = json[at];
    if (byte === quote) {
      at = stringEndInBytes(json, at);
      continue;
    }
    at += 1;
    if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return json.length;
}

/** The index after a number, `true`, `false` or `null`. */
function wordEnd(json: Uint8Array, start: number): number {
  let at = start;
  for (; at < json.length; at += 1) {
    const byte = json[at]!;
    if (byte === comma || byte === closeBrace || byte <= blank) break;
  }
  return at;
}
