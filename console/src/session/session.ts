/** Who asks: a token, kept for this tab only, or on this device. */

export interface Session {
  readonly token: string;
  /** Whether it stays on this device when the tab is closed. */
  readonly isKept: boolean;
}

const key = 'tablog.token';

/**
 * The token of the address (`#token=...`), which is taken out of it at once so that no history and no screenshot has it; else the one that was kept.
 * Null: somebody has to give one.
 */
export function openSession(): Session | null {
  const given = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (given !== undefined) {
    history.replaceState(null, '', '#/');
    const session = { token: decodeURIComponent(given), isKept: false };
    keepSession(session);
    return session;
  }
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
