import { isIPv6 } from 'node:net';

/**
 * The network of a client: its IPv4 address, or the first 64 bits of its IPv6 address, because one customer usually has them all. An
 * IPv4 address within IPv6 (`::ffff:10.0.0.1`) is that IPv4 address. Clients whose connections have ended share one.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const [plain] = address.split('%', 1);
  if (!isIPv6(plain!)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain!);
  if (mapped !== null) return mapped[1]!;
  const [before, after] = plain!.split('::') as [string, string?];
  const first = groupsOf(before);
  const last = groupsOf(after ?? '');
  const left = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return `${[...first, ...left, ...last].slice(0, 4).map((group) => group.toString(16)).join(':')}::/64`;
}

/** An IPv4 address at the end stands for two groups. */
function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}
