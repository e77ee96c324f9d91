/**
 * Walks JSON text without parsing it. The text must be valid JSON. The scanner of the formats has refused any other
 * text, so errors are not handled here.
 */
import { isDigit } from './scan-text.ts';

const quote = 34;
const backslash = 92;

function isBlank(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

export function skipBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** The index after the string that begins with the quote at `start`. */
export function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === backslash) escapes -= 1;
    // A quote after an even number of backslashes is not escaped.
    if ((end - escapes) % 2 === 0) return end + 1;
  }
  return text.length;
}

/** The index after the value that begins at `start`. */
export function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return stringEnd(text, start);
  if (first !== 123 && first !== 91) return wordEnd(text, start);
  let depth = 0;
  for (let at = start; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = stringEnd(text, at);
      continue;
    }
    at += 1;
    if (code === 123 || code === 91) depth += 1;
    else if (code === 125 || code === 93) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return text.length;
}

/** The index after a number, `true`, `false` or `null`. */
function wordEnd(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 44 || code === 93 || code === 125 || isBlank(code)) break;
  }
  return at;
}

/** The elements of an array as written, without surrounding white space. */
export function elementsOf(array: string): string[] {
  const elements: string[] = [];
  let at = skipBlanks(array, 1);
  while (at < array.length && array.charCodeAt(at) !== 93) {
    const end = valueEnd(array, at);
    elements.push(array.slice(at, end));
    at = skipBlanks(array, end);
    if (array.charCodeAt(at) === 44) at = skipBlanks(array, at + 1);
  }
  return elements;
}

/** The decoded text of a string token. */
export function decodeString(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}

/** A double can hold any number with this many digits. */
const safeDigits = 15;

/**
 * Whether a double preserves a number token. It does not preserve every integer beyond 2^53 (docs/spec/decisions.md 2).
 * Fractions and exponents always pass.
 */
export function isExactNumber(token: string): boolean {
  if (token.length <= safeDigits) return true;
  if (token.includes('.') || token.includes('e') || token.includes('E')) return true;
  const value = Number(token);
  return Number.isFinite(value) && BigInt(token) === BigInt(value);
}

/**
 * The value with each inexact number, at any depth, replaced by the string of its text; the same text if all numbers
 * are exact.
 */
export function withExactNumbers(token: string): string {
  let text = '';
  let copied = 0;
  for (let at = 0; at < token.length;) {
    const code = token.charCodeAt(at);
    if (code === quote) at = stringEnd(token, at);
    else if (isNumberStart(code)) {
      const end = wordEnd(token, at);
      const number = token.slice(at, end);
      if (!isExactNumber(number)) {
        text += `${token.slice(copied, at)}"${number}"`;
        copied = end;
      }
      at = end;
    } else at += 1;
  }
  return copied === 0 ? token : text + token.slice(copied);
}

function isNumberStart(code: number): boolean {
  return code === 45 || isDigit(code);
}

/** Whether all numbers in a value, at any depth, are exact. */
export function hasOnlyExactNumbers(token: string): boolean {
  for (let at = 0; at < token.length;) {
    const code = token.charCodeAt(at);
    if (code === quote) at = stringEnd(token, at);
    else if (isNumberStart(code)) {
      const end = wordEnd(token, at);
      if (!isExactNumber(token.slice(at, end))) return false;
      at = end;
    } else at += 1;
  }
  return true;
}
