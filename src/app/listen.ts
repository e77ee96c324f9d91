/** Listens where the settings say, and explains failures in terms of the setting at fault. */
import { ConfigError } from '../storage/config-error.ts';

export interface Listener {
  readonly setting: 'PORT' | 'METRICS_PORT';
  readonly port: number;
  readonly open: (address: { readonly host: string; readonly port: number }) => Promise<unknown>;
}

/** Opens all listeners on one host. Rejects with ConfigError if some fail, with a problem for each. */
export async function listen(host: string, listeners: readonly Listener[]): Promise<void> {
  const results = await Promise.allSettled(listeners.map(({ port, open }) => open({ host, port })));
  const problems = results.flatMap((result, index) => {
    return result.status === 'rejected' ? [describeProblem(result.reason, host, listeners[index]!)] : [];
  });
  // A problem of the host is the same for all listeners.
  if (problems.length > 0) throw new ConfigError([...new Set(problems)]);
}

/** Rethrows an unknown error. */
function describeProblem(error: NodeJS.ErrnoException, host: string, { setting, port }: Listener): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `${setting}: port ${port} of ${host} is in use; stop what listens there, or set ${setting} to another port`;
    case 'EACCES':
      return `${setting}: this user may not listen on port ${port}; set ${setting} to another port, such as one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return `HOST: ${host} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 is all of them`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
      return `HOST: the name ${host} cannot be resolved; name an address of this machine, such as 127.0.0.1`;
    default:
      throw error;
  }
}
