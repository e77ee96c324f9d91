/** What the requests of a process share out among teams (docs/reference/limits.md). */
import { scansAtOnce } from '../../../storage/database/database.ts';
import { FairShares, type FairSharesOptions, type ShareName } from './fair-shares.ts';

/** How many bodies of rows are read at once. Each takes up to two blocks and an unfinished row of memory. */
const bodiesAtOnce = 64;

/** How many pages are read at once: as many as there are connections for them. */
const pagesAtOnce = scansAtOnce;

/** How many queries the query engine answers at once, without SQL. */
const queriesAtOnce = 8;

/** The same of SQL, which may have to wait for that of other teams. */
const sqlAtOnce = 8;

/** How many exports are sent at once. Their clients may read slowly. */
const exportsAtOnce = 16;

/**
 * How many writes wait for their outcomes at once. More would not be faster: they are decided and stored in batches.
 * But all the answers of a batch are written at once, and all the next requests that these bring are read at once.
 */
const writesAtOnce = 256;

/**
 * How many writes of one team wait at once while other teams write too. A request of another team comes after the
 * answers to all of them.
 */
const writesOfTeamAtOnce = 32;

/** One part in this many of a share is kept for teams that hold nothing of the share. */
const keptPart = 8;

/**
 * How many PUTs of the bytes of an upload are read at once: each keeps what it has so far. A client sends one, or a
 * second when the first hangs.
 */
const putsOfUploadAtOnce = 2;

export interface Shares {
  /** Bodies of rows that are read. */
  readonly bodies: FairShares;
  /** Pages of rows or tables that are read. */
  readonly pages: FairShares;
  /** Queries that the query engine answers: filters, sorts and groups. */
  readonly queries: FairShares;
  /** SQL that it answers. */
  readonly sql: FairShares;
  /** Exports that are made and sent. */
  readonly exports: FairShares;
  /**
   * Bytes of pages and files that are read, or that their clients have not read yet; static files count for client
   * addresses.
   */
  readonly outgoingBytes: FairShares;
  /** Events that wait for their outcome. A unit is a byte; each event takes at least `writeUnitsMin`. */
  readonly writes: FairShares;
  readonly writeUnitsMin: number;
  /** PUTs to signed URLs, which uploads share. */
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
