/** CreateUpload (spec 4.8). */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { UploadLimits } from '../src/language/events/limits.ts';
import { appId, parse, boundedText } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

export const appPath = z.object({
  appID: appId.meta({
    description: 'The ID of an app. An app exists as soon as a team uses its ID.',
    examples: ['shop'],
  }),
});

/**
 * A media type as in a header (RFC 9110, section 8.3.1). Neighbouring parts share no character, so matching never
 * backtracks.
 */
const mediaTypePattern =
  /^[A-Za-z0-9_!#$%&'*+.^`|~-]+\/[A-Za-z0-9_!#$%&'*+.^`|~-]+(?:[ \t]*;[ \t]*[A-Za-z0-9_!#$%&'*+.^`|~-]+=(?:[A-Za-z0-9_!#$%&'*+.^`|~-]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))*$/;

/**
 * The name of the file: the last part of its URL, and the name under which a client saves it. The pattern spells out
 * control characters, because generators that read the OpenAPI document do not know `\p{Cc}`.
 */
// oxlint-disable-next-line no-control-regex
const fileNamePattern = /^[^\u0000-\u001f\u007f-\u009f/\\]+$/;
/** Names that a file system reads as a folder. */
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
    fileName: boundedText(255)
      .regex(fileNamePattern, 'must not have slashes, backslashes or control characters')
      .refine((name) => !folders.includes(name), 'must not be a name of a folder')
      .meta({
        description: 'The name that the file is saved under, without a path.',
        examples: ['photo.png'],
        pattern: fileNamePattern.source,
        not: { enum: folders },
      }),
    contentLength: z.unknown().optional().meta({
      description:
        'The size of the file in bytes, if known. A file that is too large is then refused before it is sent.',
    }),
  })
  .meta({ id: 'NewUpload', description: 'The file to upload. Other members are ignored.' });

/** The client announces a file that exceeds the limit of an upload. */
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
