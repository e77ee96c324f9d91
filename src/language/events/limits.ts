/** Limits in events, as they were configured when the request was made. */

/** The limits that decide a request, as configured when it was made. */
export interface RowLimits {
  readonly rowsPerTableMax: number;
  readonly columnsMax: number;
  readonly rowBytesMax: number;
  /** How many different columns an imported stash may name. Absent in events from before this limit: 10,000. */
  readonly stashColumnsMax?: number;
}

/** The limits of a new table, as configured when it was requested. */
export interface TableLimits extends RowLimits {
  /** How many tables the team may have, including this one. Absent in events from before this limit: no limit. */
  readonly tablesMax?: number;
}

/** The limits of a stash, as configured when a chunk was sent to it. */
export interface StashLimits {
  /** How long after its creation the stash can be imported, in milliseconds of log time. */
  readonly lifeMs: number;
  readonly chunksMax: number;
  readonly rowsMax: number;
  /** Maximum of the columns of its blocks, summed over the blocks, because an import reads all their profiles. */
  readonly profiledColumnsMax: number;
  /** How many stashes the team may have, including this one. Absent in events from before this limit: no limit. */
  readonly stashesMax?: number;
}

/** The limits of a body that comes in blocks, as configured when it began. */
export interface BodyLimits {
  /** How many bodies the team may have open, including this one. */
  readonly openMax: number;
}

/** The limits of an upload, as configured when it was created. */
export interface UploadLimits {
  /** The largest file, in bytes. */
  readonly sizeMax: number;
  /** How long after its creation the bytes can be sent and the upload completed, in milliseconds of log time. */
  readonly lifeMs: number;
  /** How long a file that no row references is kept, in milliseconds of log time. */
  readonly unclaimedLifeMs: number;
  /** How many uploads the team may have open, including this one. Absent in events from before this limit: no limit. */
  readonly openMax?: number;
  /**
   * How many bytes all open uploads of the team may have, each counted with its `sizeMax`. Absent in events from before
   * this limit: no limit.
   */
  readonly openBytesMax?: number;
}
