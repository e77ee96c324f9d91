import { OutcomeUnknown, RefusedRow } from '../../../clients/file-import/import-errors.ts';
import { MalformedFile } from '../../../clients/file-import/malformed-file.ts';
import { describeError, isErrorOfType } from '../ui/describe-error.ts';
import type { Failure } from './messages.ts';

/** Where the service says which row it means: by chunk, which nobody has seen. */
const placeInChunk = /^(?:chunk \w+[,:] *)?(?:rows|header)\[\d+\](?:: |\.)?/;

/** Why a file was not read or imported. `isCanceled`: whether somebody has stopped it. */
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
      text: `Whether the rows were imported is not known. Look at the table. ${isCanceled ? '' : describeError(error.cause)}`.trim(),
      isCanceled: false,
    };
  }
  if (isErrorOfType(error, 'precondition_failed'))
    return {
      line: null,
      text: 'Somebody else has changed the table since it was shown here. Nothing was imported.',
      isCanceled,
      isConflict: true,
    };
  return { line: null, text: describeError(error), isCanceled };
}
