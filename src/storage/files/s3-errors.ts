/** Classifies and explains errors of S3 (Amazon S3 API Reference, "Error responses"). */

/** The SDK's metadata of a failed request; undefined for other errors. */
function metadataOf(error: unknown): { readonly httpStatusCode?: number } | undefined {
  return (error as { readonly $metadata?: { readonly httpStatusCode?: number } } | null)?.$metadata;
}

/** The HTTP status; null without an answer. */
export function s3StatusOf(error: unknown): number | null {
  return metadataOf(error)?.httpStatusCode ?? null;
}

/** The error code of the answer; null without an answer. */
export function s3CodeOf(error: unknown): string | null {
  return s3StatusOf(error) === null ? null : (error as Error).name;
}

/**
 * Errors that may pass without a change of settings: a provider renews expired credentials, somebody corrects a wrong
 * clock, and a slow client may be faster the next time.
 */
const passingCodes: ReadonlySet<string> = new Set([
  'ExpiredToken',
  'TokenRefreshRequired',
  'RequestTimeTooSkewed',
  'RequestTimeout',
]);

/**
 * The SDK's error code for an answer without a body, from which it reads the code. Answers to HEAD never have a body.
 */
const noCode = 'Unknown';

/**
 * Whether S3 is unavailable: it does not answer, is busy or out of space, returns an error that may pass, or
 * credentials are not available yet.
 */
export function isS3Away(error: unknown): boolean {
  const status = s3StatusOf(error);
  if (status !== null) {
    const code = s3CodeOf(error)!;
    // A HEAD request contains only the name of an object, so a 400 without a code must be about the credentials.
    return status >= 500 || status === 429 || passingCodes.has(code) || (status === 400 && code === noCode);
  }
  return metadataOf(error) !== undefined || (error as Error).name === 'CredentialsProviderError';
}

/** Explains an error at the start of the service as the problem of a setting. Null for errors that may pass. */
export function explainS3(error: unknown, bucket: string): string | null {
  const message = error instanceof Error ? error.message : '';
  switch (s3CodeOf(error)) {
    case 'NoSuchBucket':
      return `FILES_S3_BUCKET: there is no bucket ${bucket}; make it, or name another one`;
    case 'AccessDenied':
    case 'AllAccessDisabled':
      return `FILES_S3_BUCKET: the key may not list the bucket ${bucket}; give it the right to, or name another one`;
    case 'InvalidAccessKeyId':
    case 'InvalidToken':
    case 'ExpiredToken':
    case 'TokenRefreshRequired':
    case 'SignatureDoesNotMatch':
      return `FILES_S3_ACCESS_KEY_ID: the S3 does not accept this key and its secret: ${message}`;
    case 'PermanentRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return `FILES_S3_REGION: the bucket ${bucket} is in another region: ${message}`;
    case null:
      return null;
    default:
      return isS3Away(error) ? null : `FILES_S3_ENDPOINT: the S3 cannot be used: ${message} (${s3CodeOf(error)})`;
  }
}
