/** Proxies whose `X-Forwarded-For` is trusted. */
import { BlockList, isIP, isIPv4 } from 'node:net';

/** The number of proxies in front of the service, or their addresses and networks. */
export type TrustedProxies = number | readonly string[];

/** Whether an address belongs to a trusted proxy. `hop`: how many proxies are between it and this service. */
type IsTrustedProxy = (address: string | undefined, hop: number) => boolean;

const hopsMax = 100;

/** Parses a number of proxies, or addresses and networks separated by commas. Null for any other text. */
export function parseTrustedProxies(text: string): TrustedProxies | null {
  if (/^\d+$/.test(text)) return Number(text) >= 1 && Number(text) <= hopsMax ? Number(text) : null;
  const networks = text.split(',');
  return networks.every(isNetwork) ? networks : null;
}

/** If `proxies` is undefined, no proxy is trusted. */
export function trustIn(proxies: TrustedProxies | undefined): IsTrustedProxy {
  if (proxies === undefined) return () => false;
  if (typeof proxies === 'number') return (_address, hop) => hop < proxies;
  const list = new BlockList();
  for (const network of proxies) {
    const [address, bits] = network.split('/') as [string, string?];
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const family = isIP(address ?? '');
    return family !== 0 && list.check(address!, family === 4 ? 'ipv4' : 'ipv6');
  };
}

function isNetwork(text: string): boolean {
  const [, address, bits] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const family = isIP(address ?? '');
  return family !== 0 && (bits === undefined || Number(bits) <= (family === 4 ? 32 : 128));
}
