import { OutcomeUnknown, RefusedRow } from '../../../clients/file-import/import-errors.ts';
import { MalformedFile } from '../../../clients/file-import/malformed-file.ts';
import { describeError, isErrorOfType } from '../ui/describe-error.ts';
import type { Failure } from './messages.ts';

/** The place in a message of the service. It names a chunk, which the person has not seen. */
const placeInChunk = /^(?:chunk \w+[,:] *)?(?:rows|header)\[\d+\](?:: |\.)?/;

/** Why a file was not read or imported. `isCanceled`: whether the person has stopped the import. */
export function describeFailure(error: unknown, isCanceled: boolean): Failure {
  if (error instanceof MalformedFile) {
    return {
      line: error.line,
      text: `${error.reason}${error.encoding === null ? '' : '. Choose another encoding.'}`,
      isCanceled,
    };
  }
  if (error instanceof RefusedRow)
    return { line: error.place.line, text: error.cause.message.replace(placeInChunk, ''), isCanceled };
  if (error instanceof OutcomeUnknown) {
    return {
      line: null,
      text: `It is unknown whether the rows were imported. Check the table. ${isCanceled ? '' : describeError(error.cause)}`.trim(),
      isCanceled: false,
    };
  }
  if (isErrorOfType(error, 'precondition_failed'))
    return {
      line: null,
      text: 'Somebody else has changed the table since this page showed it. Nothing was imported.',
      isCanceled,
      isConflict: true,
    };
  return { line: null, text: describeError(error), isCanceled };
}
