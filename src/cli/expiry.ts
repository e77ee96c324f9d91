/** The expiry of a token, as given on the command line. */
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';

/** Returns the expiry, in milliseconds since 1970, given the current log time. */
export type Expiry = (now: number) => number;

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/**
 * Parses a duration from now like `90m`, `12h` or `30d`, a date (its start in UTC), or a time with its zone (ISO 8601).
 * Throws InvalidArgumentError.
 */
export function parseExpiry(text: string): Expiry {
  const [, count, unit] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) return (now) => now + Number(count) * unitMs[unit as keyof typeof unitMs];
  const parsed = moment.safeParse(text);
  if (parsed.success) return () => Date.parse(parsed.data);
  throw new InvalidArgumentError(
    'It must be a duration like 90m, 12h or 30d, a date like 2027-01-31, or a moment like 2027-01-31T12:00:00Z.',
  );
}
