/**
 * Scanners for text types: URIs, e-mail addresses, phone numbers and emojis (docs/spec/decisions.md 2, "Types"). Each
 * reads every character once; no regular expression can backtrack.
 */

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

function isLetterOrDigit(code: number): boolean {
  return isLetter(code) || isDigit(code);
}

/** Unicode white space and control characters, which no URI contains. */
function isBlankOrControl(code: number): boolean {
  if (code <= 0x20 || (code >= 0x7f && code <= 0xa0)) return true;
  if (code < 0x1680) return false;
  return (
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000 ||
    code === 0xfeff
  );
}

/** A set of ASCII characters, as a table by code. */
function asciiSet(characters: string): readonly boolean[] {
  return Array.from({ length: 128 }, (_, code) => characters.includes(String.fromCharCode(code)));
}

const schemePunctuation = asciiSet('+-.');

/** A scheme, a colon, and something after it without white space. Letters beyond ASCII pass, as in an IRI. */
export function isUri(text: string): boolean {
  if (!isLetter(text.charCodeAt(0))) return false;
  let at = 1;
  while (at < text.length && (isLetterOrDigit(text.charCodeAt(at)) || schemePunctuation[text.charCodeAt(at)])) at += 1;
  if (text[at] !== ':' || at + 1 === text.length) return false;
  for (at += 1; at < text.length; at += 1) {
    if (isBlankOrControl(text.charCodeAt(at))) return false;
  }
  return true;
}

const localPunctuation = asciiSet(".!#$%&'*+/=?^_`{|}~-");
const domainLabelMax = 63;

/** "A valid e-mail address" of the HTML standard: `local@label.label`. */
export function isEmailAddress(text: string): boolean {
  const separator = text.indexOf('@');
  if (separator < 1) return false;
  for (let at = 0; at < separator; at += 1) {
    const code = text.charCodeAt(at);
    if (!isLetterOrDigit(code) && !localPunctuation[code]) return false;
  }
  for (let start = separator + 1; start <= text.length;) {
    const dot = text.indexOf('.', start);
    const end = dot === -1 ? text.length : dot;
    if (!isDomainLabel(text, start, end)) return false;
    start = end + 1;
  }
  return true;
}

function isDomainLabel(text: string, start: number, end: number): boolean {
  if (end === start || end - start > domainLabelMax) return false;
  if (!isLetterOrDigit(text.charCodeAt(start)) || !isLetterOrDigit(text.charCodeAt(end - 1))) return false;
  for (let at = start; at < end; at += 1) {
    if (!isLetterOrDigit(text.charCodeAt(at)) && text[at] !== '-') return false;
  }
  return true;
}

const phoneSeparator = asciiSet(' -.()');
const phoneDigitsMin = 3;
const phoneDigitsMax = 32;

/** 3 to 32 digits, a `+` before all of them, separators anywhere, and an extension after an `x`. */
export function isPhoneNumber(text: string): boolean {
  let digits = 0;
  let sawPlus = false;
  let digitsBeforeExtension = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isDigit(code)) {
      digits += 1;
      if (digits > phoneDigitsMax) return false;
    } else if (code === 43) {
      if (sawPlus || digits > 0) return false;
      sawPlus = true;
    } else if ((code | 32) === 120) {
      if (digitsBeforeExtension !== -1 || digits < phoneDigitsMin) return false;
      digitsBeforeExtension = digits;
    } else if (!phoneSeparator[code]) {
      return false;
    }
  }
  return digits >= phoneDigitsMin && digits !== digitsBeforeExtension;
}

// Tested on one code point each, so the cost does not depend on the text.
const shownAsEmoji = /^\p{Emoji_Presentation}$/u;
const pictograph = /^\p{Extended_Pictographic}$/u;
const emojiModifier = /^\p{Emoji_Modifier}$/u;
const regionalIndicator = /^\p{Regional_Indicator}$/u;
const keycap = /^[0-9#*]\uFE0F?\u20E3$/;

const variationSelector16 = '\uFE0F';
const zeroWidthJoiner = '\u200D';
const firstTag = 0xe0020;
const cancelTag = 0xe007f;

/**
 * One emoji: a keycap, a flag, or pictographs joined to one grapheme cluster of which at least one part is shown in
 * colour.
 */
export function isEmoji(text: string): boolean {
  if (text.length === 0) return false;
  if (text.charCodeAt(0) < 128) return keycap.test(text);
  const first = characterAt(text, 0);
  if (regionalIndicator.test(first)) {
    return text.length === 2 * first.length && regionalIndicator.test(text.slice(first.length));
  }
  if (emojiModifier.test(text)) return true;
  return isJoinedEmoji(text);
}

function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}

/** A pictograph with an optional skin tone, variation selector or tags; the same after each joiner. */
function isJoinedEmoji(text: string): boolean {
  let shown = false;
  for (let at = 0; ;) {
    const base = characterAt(text, at);
    if (!pictograph.test(base)) return false;
    shown ||= shownAsEmoji.test(base);
    at += base.length;

    const mark = characterAt(text, at);
    if (mark === variationSelector16 || emojiModifier.test(mark)) {
      shown = true;
      at += mark.length;
    } else if (isTag(text.codePointAt(at))) {
      while (isTag(text.codePointAt(at)) && text.codePointAt(at) !== cancelTag) at += 2;
      if (text.codePointAt(at) !== cancelTag) return false;
      at += 2;
    }
    if (at === text.length) return shown;
    if (text[at] !== zeroWidthJoiner) return false;
    at += 1;
  }
}

function isTag(code: number | undefined): boolean {
  return code !== undefined && code >= firstTag && code <= cancelTag;
}
