/** CreateUpload (spec 4.8). */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { UploadLimits } from '../src/language/events/limits.ts';
import { appId, parse, text } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

export const appPath = z.object({
  appID: appId.meta({ description: 'The ID of an app. One is there once a team names it.', examples: ['shop'] }),
});

/**
 * A media type as in a header (RFC 9110, section 8.3.1). The parts have no characters in common, so it is matched in
 * one pass.
 */
const mediaTypePattern =
  /^[A-Za-z0-9_!#$%&'*+.^`|~-]+\/[A-Za-z0-9_!#$%&'*+.^`|~-]+(?:[ \t]*;[ \t]*[A-Za-z0-9_!#$%&'*+.^`|~-]+=(?:[A-Za-z0-9_!#$%&'*+.^`|~-]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))*$/;

/**
 * It becomes the last part of a URL, and the name that the file is saved under. Control characters are written out:
 * generators that read the OpenAPI document do not know `\p{Cc}`.
 */
// oxlint-disable-next-line no-control-regex
const fileNamePattern = /^[^\u0000-\u001f\u007f-\u009f/\\]+$/;
/** Names of files that are none. */
const folders = ['.', '..'];

export const newUpload = z
  .object({
    contentType: z
      .string()
      .max(255, 'must have at most 255 characters')
      .regex(mediaTypePattern, 'must be a media type, like image/png')
      .meta({
        description: 'The media type of the file. The bytes are to be sent with it as their `Content-Type`.',
        examples: ['image/png'],
      }),
    fileName: text(255)
      .regex(fileNamePattern, 'must not have slashes, backslashes or control characters')
      .refine((name) => !folders.includes(name), 'must not be a name of a folder')
      .meta({
        description: 'The name that the file is saved under, without a path.',
        examples: ['photo.png'],
        pattern: fileNamePattern.source,
        not: { enum: folders },
      }),
    contentLength: z.unknown().optional().meta({
      description: 'The bytes of the file, where they are known: what is too large is refused now rather than later.',
    }),
  })
  .meta({ id: 'NewUpload', description: 'What the file will be. Other members are passed over.' });

/** The client announces a file that is larger than an upload may be. */
class FileTooLarge extends Error {
  override readonly name = 'FileTooLarge';
  readonly type = 'payload_too_large';
}

interface CreateUploadInput {
  readonly teamId: string;
  readonly uploadId: string;
  readonly path: z.output<typeof appPath>;
  readonly members: Readonly<Record<string, unknown>>;
  readonly limits: UploadLimits;
}

/** Throws InvalidRequest, and FileTooLarge. */
export function createUpload({
  teamId,
  uploadId,
  path,
  members,
  limits,
}: CreateUploadInput): EventOf<'UploadCreateRequested'> {
  const { contentType, fileName, contentLength } = parse(newUpload, members, (message) => new InvalidRequest(message));
  if (typeof contentLength === 'number' && contentLength > limits.sizeMax) {
    throw new FileTooLarge(`The file may have at most ${limits.sizeMax} bytes.`);
  }
  return { type: 'UploadCreateRequested', teamId, uploadId, appId: path.appID, contentType, fileName, limits };
}
