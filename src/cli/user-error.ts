/** An error of the user of the command line, or one that the user should know about. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
