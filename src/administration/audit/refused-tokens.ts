/**
 * Counts refused tokens by address, so that a client with wrong tokens fills no disk: each address has at most one line
 * a minute in the audit log.
 */
import { LRUCache } from 'lru-cache';
import type { AuditLog } from './audit-log.ts';

/** How many addresses are counted one by one. Those beyond share a line. */
const addressesMax = 1000;
const intervalMs = 60_000;
const claimLengthMax = 256;

interface Refusals {
  count: number;
  /** The last claim. */
  forwardedFor: string | undefined;
}

/** What a request says of where it comes from. */
export interface Origin {
  /** Of the connection; undefined if it has ended. */
  readonly address: string | undefined;
  readonly forwardedFor: string | undefined;
}

export class RefusedTokens {
  readonly #audit: AuditLog;
  readonly #timer: NodeJS.Timeout;
  /** Of addresses that no longer have a count of their own. */
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

  /** Writes what was counted since the last time. */
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
