/** What every request of a client is asked first (decisions 2). */
export const suspendedMessage = 'the team is suspended';
