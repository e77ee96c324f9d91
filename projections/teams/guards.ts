/** What is said to a team that is suspended (docs/spec/decisions.md 2). */
export const suspendedMessage = 'the team is suspended';
