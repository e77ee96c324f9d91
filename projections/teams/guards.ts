/** What every request of a client is asked first (docs/spec/decisions.md 2). */
export const suspendedMessage = 'the team is suspended';
