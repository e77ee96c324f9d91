/** The resources of a process that requests of several teams share (docs/reference/limits.md). */
import { scansAtOnce } from '../../../storage/database/database.ts';
import { FairShares, type FairSharesOptions, type ShareName } from './fair-shares.ts';

/** How many bodies of rows are read at once. Each takes up to two blocks and an unfinished row of memory. */
const bodiesAtOnce = 64;

/** How many pages are read at once: as many as there are connections for them. */
const pagesAtOnce = scansAtOnce;

/** How many queries the query engine answers at once, SQL not counted. */
const queriesAtOnce = 8;

/** How many SQL queries the query engine answers at once. They may have to wait for SQL of other teams. */
const sqlAtOnce = 8;

/** How many exports are sent at once. Their clients may read slowly. */
const exportsAtOnce = 16;

/**
 * How many writes wait for their outcomes at once. More would not be faster, because writes are decided and stored in
 * batches. But all answers of a batch are sent at once, and their clients then send their next requests at once.
 */
const writesAtOnce = 256;

/**
 * How many writes of one team wait at once while other teams write too. A request of another team is answered after all
 * of these.
 */
const writesOfTeamAtOnce = 32;

/** One unit in this many is kept for teams that hold none. */
const keptPart = 8;

/**
 * How many PUTs of one upload are read at once. Each keeps the bytes it has received so far. A client sends one, and a
 * second one when the first hangs.
 */
const putsOfUploadAtOnce = 2;

export interface Shares {
  /** Bodies of rows that are being read. */
  readonly bodies: FairShares;
  /** Pages of rows or tables that are being read. */
  readonly pages: FairShares;
  /** Queries that the query engine answers: filters, sorts and groups. */
  readonly queries: FairShares;
  /** SQL that the query engine answers. */
  readonly sql: FairShares;
  /** Exports that are being sent. */
  readonly exports: FairShares;
  /**
   * Bytes of pages and files that are being read, or that their clients have not received yet. Static files count for
   * client addresses.
   */
  readonly outgoingBytes: FairShares;
  /** Events that wait for their outcome. A unit is a byte; each event takes at least `writeUnitsMin`. */
  readonly writes: FairShares;
  readonly writeUnitsMin: number;
  /** PUTs to signed URLs. Uploads share them. */
  readonly signedPuts: FairShares;
}

interface ShareSettings {
  readonly OUTCOME_WAIT_MS: number;
  readonly RESPONSE_BYTES_MAX: number;
  readonly APPEND_QUEUE_EVENTS_MAX: number;
  readonly APPEND_QUEUE_BYTES_MAX: number;
  readonly CONNECTIONS_MAX: number;
}

/** Opens the shares of a process. */
export function openShares(config: ShareSettings, onRefused: FairSharesOptions['onRefused']): Shares {
  const open = (name: ShareName, capacity: number, more: Partial<FairSharesOptions> = {}): FairShares => {
    return new FairShares({ name, capacity, waitMs: config.OUTCOME_WAIT_MS, onRefused, ...more });
  };
  const openWithKept = (name: ShareName, capacity: number, more: Partial<FairSharesOptions> = {}): FairShares => {
    return open(name, capacity, { kept: Math.floor(capacity / keptPart), ...more });
  };
  const writeUnitsMin = Math.ceil(
    config.APPEND_QUEUE_BYTES_MAX / Math.min(writesAtOnce, config.APPEND_QUEUE_EVENTS_MAX),
  );
  return {
    bodies: openWithKept('bodies', bodiesAtOnce),
    pages: openWithKept('pages', pagesAtOnce),
    queries: openWithKept('queries', queriesAtOnce),
    sql: openWithKept('sql', sqlAtOnce),
    exports: openWithKept('exports', exportsAtOnce),
    outgoingBytes: openWithKept('outgoing_bytes', config.RESPONSE_BYTES_MAX, { holder: 'team or client address' }),
    writes: open('writes', config.APPEND_QUEUE_BYTES_MAX, { eachWhenShared: writesOfTeamAtOnce * writeUnitsMin }),
    writeUnitsMin,
    signedPuts: open('signed_puts', config.CONNECTIONS_MAX, { holder: 'upload', eachAtMost: putsOfUploadAtOnce }),
  };
}
