/** Sizes as users write them. The units are those of IEC 80000-13: kB is 1000 bytes, KiB is 1024. */
const prefixes = ['k', 'm', 'g', 't', 'p'];

/**
 * The bytes of a size: a whole number, alone or with a unit from kB to PB or KiB to PiB (`500MB`, `10 GiB`), in any case. Null for
 * an invalid size, and for one that exceeds the safe integers.
 */
export function parseByteSize(text: string): number | null {
  const [, digits, prefix, binary] = /^([0-9]+)(?: ?(?:([kmgtp])(i)?)?b)?$/i.exec(text) ?? [];
  if (digits === undefined) return null;
  const power = prefix === undefined ? 0 : prefixes.indexOf(prefix.toLowerCase()) + 1;
  const bytes = Number(digits) * (binary === undefined ? 1000 : 1024) ** power;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** Writes a size with the largest binary unit of which it is a whole number: `1 GiB`, `1000 bytes`. */
export function formatByteSize(bytes: number): string {
  const power = prefixes.findLastIndex((_, index) => bytes > 0 && bytes % 1024 ** (index + 1) === 0) + 1;
  return power === 0 ? `${bytes} bytes` : `${bytes / 1024 ** power} ${prefixes[power - 1]!.toUpperCase()}iB`;
}
