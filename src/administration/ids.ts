const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The ID of a team or token as it is stored, or null if the text is no ID. */
export function normalId(text: string): string | null {
  return uuidPattern.test(text) ? text.toLowerCase() : null;
}
