/** Reads answers. */
import type { Target } from '../requests.ts';

const lineFeed = 0x0a;

/**
 * The comparable part of the answers of both sides: the rows in order, or the groups. Balances have cents, so both
 * sides round sums to the same number.
 */
export function digest(answer: Buffer): string[] {
  const { data } = JSON.parse(answer.toString()) as { data: Readonly<Record<string, string | number>>[] };
  return data.map(({ email, company, count, sum_balance: sum }) =>
    String(email ?? `${company}: ${count}, ${Number(sum).toFixed(2)}`),
  );
}

/** Reads an answer while it arrives; resolves to its number of lines. */
export async function countLines({ ports, token }: Target, path: string, signal: AbortSignal): Promise<number> {
  // Without compression, because the yardstick does not compress either.
  const headers = { 'authorization': `Bearer ${token}`, 'accept-encoding': 'identity' };
  const response = await fetch(`http://127.0.0.1:${ports[0]}${path}`, { headers, signal });
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${(await response.text()).slice(0, 500)}`);
  let lines = 0;
  for await (const bytes of response.body!) {
    for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) lines += 1;
  }
  return lines;
}
