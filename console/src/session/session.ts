/** A session: a token that is kept for this tab and its sibling tabs, or on this device. */

export interface Session {
  readonly token: string;
  /** Whether the token stays on this device when the tab is closed. */
  readonly isKept: boolean;
}

const key = 'tablog.token';
const endedKey = 'tablog.ended';

/**
 * The session of the address (`#token=...`). The token is removed from the address at once, so that it stays out of the
 * history and of screenshots. Null if the address has none, or if the person keeps another session: somebody else's
 * link must not switch teams unasked.
 */
export function openLinkedSession(): Session | null {
  const token = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (token === undefined) return null;
  history.replaceState(null, '', '#/');
  const present = keptSession();
  if (
    present !== null &&
    present.token !== token &&
    !confirm('This link has another token. End this session and sign in with that token?')
  )
    return null;
  const session = { token, isKept: false };
  keepSession(session);
  return session;
}

/** The session of the address, otherwise the kept session. Null: the person must enter a token. */
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

/** Forgets the token and everything else that this tab keeps. */
export function endSession(): void {
  for (const name of Object.keys(sessionStorage).filter((each) => each.startsWith('tablog.')))
    sessionStorage.removeItem(name);
  localStorage.removeItem(key);
}

/** Notes that the session of this tab has ended, so that the tab asks no other tab for a session after a reload. */
export function noteEnd(): void {
  sessionStorage.setItem(endedKey, 'true');
}

/** Whether the last session of this tab has ended. */
export function hasEnded(): boolean {
  return sessionStorage.getItem(endedKey) !== null;
}
