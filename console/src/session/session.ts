/** Who asks: a token, kept for this tab and those that are opened beside it, or on this device. */

export interface Session {
  readonly token: string;
  /** Whether it stays on this device when the tab is closed. */
  readonly isKept: boolean;
}

const key = 'tablog.token';
const endedKey = 'tablog.ended';

/**
 * The session of the address (`#token=...`), which is taken out of it at once so that no history and no screenshot has
 * it. Null: it has none, or the person stays with another one: a link of somebody else must not lead them into another
 * team unasked.
 */
export function openLinkedSession(): Session | null {
  const token = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (token === undefined) return null;
  history.replaceState(null, '', '#/');
  const present = keptSession();
  if (
    present !== null &&
    present.token !== token &&
    !confirm('This link has another token. Leave the present session, and sign in with it?')
  )
    return null;
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

/** Forgets the token, and what this tab keeps besides it. */
export function endSession(): void {
  for (const name of Object.keys(sessionStorage).filter((each) => each.startsWith('tablog.')))
    sessionStorage.removeItem(name);
  localStorage.removeItem(key);
}

/** Notes that the session of this tab has ended: after a reload it asks no other tab for one. */
export function noteEnd(): void {
  sessionStorage.setItem(endedKey, 'true');
}

/** Whether the last session of this tab has ended. */
export function hasEnded(): boolean {
  return sessionStorage.getItem(endedKey) !== null;
}
