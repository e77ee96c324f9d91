/** The message to a suspended team (docs/spec/decisions.md 2). */
export const suspendedMessage = 'the team is suspended';
