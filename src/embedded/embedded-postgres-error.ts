/** The embedded Postgres cannot be run here, or not be stopped. The message is for whoever started it: why, and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
