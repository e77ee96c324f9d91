/**
 * Errors of imports. An import can also throw MalformedFile, and TablogError or Unreachable if the request failed
 * independently of its rows.
 */
import type { TablogError } from '../typescript/src/index.ts';
import type { PlaceInFile } from './places.ts';

/** The service refused a row or the header. */
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
 * The import was requested, but no answer came (`cause`: TablogError or Unreachable), or the caller stopped waiting
 * (`cause`: the reason of the signal).
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  override readonly cause: Error;

  constructor(cause: Error) {
    super(`It is unknown whether the import took effect: ${cause.message}`);
    this.cause = cause;
  }
}
