/**
 * Why an import failed, besides MalformedFile and what the service refused whatever the rows are (TablogError,
 * Unreachable).
 */
import type { TablogError } from '../typescript/src/index.ts';
import type { PlaceInFile } from './places.ts';

/** The service refused a row, or the header. */
export class RefusedRow extends Error {
  override readonly name = 'RefusedRow';
  override readonly cause: TablogError;
  readonly place: PlaceInFile;

  constructor(place: PlaceInFile, cause: TablogError) {
    super(`line ${place.line}: ${cause.message}`);
    this.place = place;
    this.cause = cause;
  }
}

/**
 * The import was asked for, but no answer came (TablogError, Unreachable), or nobody waited for it (the reason of the
 * signal).
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  override readonly cause: Error;

  constructor(cause: Error) {
    super(`It is unknown whether the import took effect: ${cause.message}`);
    this.cause = cause;
  }
}
