/**
 * Counts refused tokens by address. The audit log gets at most one line per address and minute, so a client with wrong
 * tokens cannot fill the disk.
 */
import { LRUCache } from 'lru-cache';
import type { AuditLog } from './audit-log.ts';

/** How many addresses have a count of their own. Further addresses share one line. */
const addressesMax = 1000;
const intervalMs = 60_000;
const claimLengthMax = 256;

interface Refusals {
  count: number;
  /** The latest `X-Forwarded-For` of the address, cut to `claimLengthMax` characters. */
  forwardedFor: string | undefined;
}

/** Where a request comes from. */
export interface Origin {
  /** The address of the connection; undefined if the connection has ended. */
  readonly address: string | undefined;
  readonly forwardedFor: string | undefined;
}

export class RefusedTokens {
  readonly #audit: AuditLog;
  readonly #timer: NodeJS.Timeout;
  /** The count of addresses that no longer have their own. */
  #others = 0;
  readonly #byAddress = new LRUCache<string, Refusals>({
    max: addressesMax,
    dispose: ({ count }, _address, reason) => {
      if (reason === 'evict') this.#others += count;
    },
  });

  constructor(audit: AuditLog) {
    this.#audit = audit;
    this.#timer = setInterval(() => this.flush(), intervalMs).unref();
  }

  add({ address = 'unknown', forwardedFor }: Origin): void {
    const claim = forwardedFor?.slice(0, claimLengthMax);
    const known = this.#byAddress.get(address);
    if (known === undefined) {
      this.#byAddress.set(address, { count: 1, forwardedFor: claim });
      return;
    }
    known.count += 1;
    known.forwardedFor = claim;
  }

  /** Writes the counts since the last call. */
  flush(): void {
    const line = { action: 'token.refused', result: 'request_error' } as const;
    for (const [address, { count, forwardedFor }] of this.#byAddress.entries()) {
      this.#audit.write({ ...line, address, ...(forwardedFor === undefined ? {} : { forwardedFor }), count });
    }
    if (this.#others > 0) this.#audit.write({ ...line, address: 'others', count: this.#others });
    this.#byAddress.clear();
    this.#others = 0;
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
  }
}
