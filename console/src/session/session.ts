/** Who asks: a token, kept for this tab only, or on this device. */

export interface Session {
  readonly token: string;
  /** Whether it stays on this device when the tab is closed. */
  readonly isKept: boolean;
}

const key = 'tablog.token';

/**
 * The session of the address (`#token=...`), which is taken out of it at once so that no history and no screenshot has it. Null: it has none, or the person stays
 * with another one: a link of somebody else must not lead them into another team unasked.
 */
export function openLinkedSession(): Session | null {
  const token = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (token === undefined) return null;
  history.replaceState(null, '', '#/');
  const present = keptSession();
  if (present !== null && present.token !== token && !confirm('This link has another token. Leave the present session, and sign in with it?')) return null;
  const session = { token, isKept: false };
  keepSession(session);
  return session;
}

/** The session of the address; else the one that was kept. Null: somebody has to give a token. */
export function openSession(): Session | null {
  return openLinkedSession() ?? keptSession();
}

function keptSession(): Session | null {
  const [ofTab, ofDevice] = [sessionStorage.getItem(key), localStorage.getItem(key)];
  if (ofTab !== null) return { token: ofTab, isKept: false };
  return ofDevice === null ? null : { token: ofDevice, isKept: true };
}

export function keepSession({ token, isKept }: Session): void {
  endSession();
  (isKept ? localStorage : sessionStorage).setItem(key, token);
}

export function endSession(): void {
  sessionStorage.removeItem(key);
  localStorage.removeItem(key);
}
