/** Sizes as users write them. The units are those of IEC 80000-13: kB is 1000 bytes, KiB is 1024. */
const prefixes = ['k', 'm', 'g', 't', 'p'];

/**
 * The bytes of a size: a whole number, alone or with a unit from kB to PB or KiB to PiB (`500MB`, `10 GiB`), in any
 * case. Null for an invalid size, and for one that exceeds the safe integers.
 */
export function parseByteSize(text: string): number | null {
  const [, digits, prefix, binary] = /^([0-9]+)(?: ?(?:([kmgtp])(i)?)?b)?$/i.exec(text) ?? [];
  if (digits === undefined) return null;
  const power = prefix === undefined ? 0 : prefixes.indexOf(prefix.toLowerCase()) + 1;
  const bytes = Number(digits) * (binary === undefined ? 1000 : 1024) ** power;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/**
 * Writes a size exactly, with the unit that leaves the smallest whole number: `1 GiB`, `10 GB`, `1001 bytes`.
 * `parseByteSize` reads it as the same size.
 */
export function formatByteSize(bytes: number): string {
  const sizes = prefixes.flatMap((prefix, index) => [
    { count: bytes / 1024 ** (index + 1), unit: `${prefix.toUpperCase()}iB` },
    { count: bytes / 1000 ** (index + 1), unit: `${index === 0 ? prefix : prefix.toUpperCase()}B` },
  ]);
  const whole = sizes.filter(({ count }) => count > 0 && Number.isInteger(count));
  const { count, unit } = whole.reduce((least, size) => (size.count < least.count ? size : least), {
    count: bytes,
    unit: 'bytes',
  });
  return `${count} ${unit}`;
}
