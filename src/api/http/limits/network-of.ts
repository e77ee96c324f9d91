import { isIPv4, isIPv6 } from 'node:net';

/** Stands for clients whose connection has ended, or whose proxy names no address. */
const unknown = 'unknown';

/**
 * The network of a client: its IPv4 address, or the first 64 bits of its IPv6 address, because one customer usually has
 * all addresses behind them. An IPv4 address within IPv6 (`::ffff:10.0.0.1`) is that IPv4 address. A port, which some
 * proxies add, is left out. All texts that are not addresses share one network.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return unknown;
  const [, inBrackets, beforePort] = /^(?:\[([^\]]{1,100})\](?::\d{1,5})?|([\d.]{7,15}):\d{1,5})$/.exec(address) ?? [];
  const [plain] = (inBrackets ?? beforePort ?? address).split('%', 1);
  if (isIPv4(plain!)) return plain!;
  if (!isIPv6(plain!)) return unknown;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain!);
  if (mapped !== null) return mapped[1]!;
  const [before, after] = plain!.split('::') as [string, string?];
  const first = groupsOf(before);
  const last = groupsOf(after ?? '');
  const left = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return `${[...first, ...left, ...last]
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The 16-bit groups of a part of an IPv6 address. An IPv4 address at its end counts as two groups. */
function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}
