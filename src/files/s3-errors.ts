/** What an S3 says when it does not do what it was asked, and what its operator is told of it (Amazon S3 API Reference, "Error responses"). */

/** What the SDK says of a request that failed; nothing of what is no such failure. */
function metadataOf(error: unknown): { readonly httpStatusCode?: number } | undefined {
  return (error as { readonly $metadata?: { readonly httpStatusCode?: number } } | null)?.$metadata;
}

/** The status of an answer; null where there was none. */
export function s3StatusOf(error: unknown): number | null {
  return metadataOf(error)?.httpStatusCode ?? null;
}

/** The code that an answer gave; null where there was none. */
export function s3CodeOf(error: unknown): string | null {
  return s3StatusOf(error) === null ? null : (error as Error).name;
}

/**
 * Refusals that may pass without a change of settings: credentials that have run out are renewed by what gives them, a clock that is
 * off is set, and a client that was too slow for the S3 is faster the next time.
 */
const passingCodes: ReadonlySet<string> = new Set(['ExpiredToken', 'TokenRefreshRequired', 'RequestTimeTooSkewed', 'RequestTimeout']);

/** What the SDK calls an answer without a body, as all to HEAD are: the code would stand in it. */
const noCode = 'Unknown';

/**
 * Whether the S3 is away: it gives no answer, is too busy or out of space, refuses what may pass, or nobody can say yet who this service is.
 */
export function isS3Away(error: unknown): boolean {
  const status = s3StatusOf(error);
  if (status !== null) {
    const code = s3CodeOf(error)!;
    // A HEAD names an object and nothing else, so that what is bad about it can only be the credentials.
    return status >= 500 || status === 429 || passingCodes.has(code) || (status === 400 && code === noCode);
  }
  return metadataOf(error) !== undefined || (error as Error).name === 'CredentialsProviderError';
}

/** What the start can be refused for, as a problem of a setting; null for anything else, which may pass. */
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
