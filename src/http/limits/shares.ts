/** What the requests of a process share out among teams (docs/limits.md). */
import type { Config } from '../../app/config.ts';
import { scansAtOnce } from '../../database/database.ts';
import { FairShares, type FairSharesOptions, type ShareName } from './fair-shares.ts';

/** How many bodies of rows are read at once. Each takes up to two blocks and an unfinished row of memory. */
const bodiesAtOnce = 64;

/** How many pages of rows are read at once: as many as there are connections for them. */
const pagesAtOnce = scansAtOnce;

export interface Shares {
  /** Bodies of rows that are read. */
  readonly bodies: FairShares;
  /** Pages of rows that are read. */
  readonly pages: FairShares;
  /** Bytes of pages that are read, or that their clients have not read yet. */
  readonly outgoingBytes: FairShares;
  /** Events that wait for their outcome. A unit is a byte; each event takes at least `writeUnitsMin`. */
  readonly writes: FairShares;
  readonly writeUnitsMin: number;
}

type ShareSettings = Pick<Config, 'OUTCOME_WAIT_MS' | 'RESPONSE_BYTES_MAX' | 'APPEND_QUEUE_EVENTS_MAX' | 'APPEND_QUEUE_BYTES_MAX'>;

/** Opens the shares of a process. */
export function openShares(config: ShareSettings, onRefused: FairSharesOptions['onRefused']): Shares {
  const open = (name: ShareName, capacity: number): FairShares => new FairShares({ name, capacity, waitMs: config.OUTCOME_WAIT_MS, onRefused });
  return {
    bodies: open('bodies', bodiesAtOnce),
    pages: open('pages', pagesAtOnce),
    outgoingBytes: open('outgoing_bytes', config.RESPONSE_BYTES_MAX),
    writes: open('writes', config.APPEND_QUEUE_BYTES_MAX),
    writeUnitsMin: Math.ceil(config.APPEND_QUEUE_BYTES_MAX / config.APPEND_QUEUE_EVENTS_MAX),
  };
}
