/** Lets the tabs of one browser that show the same service share a session (docs/decisions/0058). */
import { serviceUrl } from './service.ts';

type Message =
  | { readonly kind: 'asked' }
  /** Answers `ask`. */
  | { readonly kind: 'session'; readonly token: string }
  /** The person has signed out. */
  | { readonly kind: 'ended'; readonly token: string };

export interface Tabs {
  /** Asks the other tabs for a session. Each tab that has one answers. */
  readonly ask: () => void;
  /** Tells the other tabs that the person has signed out. */
  readonly tellEnded: (token: string) => void;
  readonly leave: () => void;
}

interface TabListeners {
  /** The token of this tab; null without a session. */
  readonly token: () => string | null;
  readonly onSession: (token: string) => void;
  readonly onEnded: (token: string) => void;
}

/**
 * Joins the channel of the tabs. Only pages of the same origin hear it. Its name contains the path, because a proxy may
 * serve several services at one origin.
 */
export function joinTabs({ token, onSession, onEnded }: TabListeners): Tabs {
  const channel = new BroadcastChannel(`tablog.session ${new URL(serviceUrl).pathname}`);
  // The rule is for windows. A channel has only the origin of the page.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const tell = (message: Message): void => channel.postMessage(message);
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    const present = token();
    if (data.kind === 'asked' && present !== null) tell({ kind: 'session', token: present });
    if (data.kind === 'session' && present === null) onSession(data.token);
    if (data.kind === 'ended' && present === data.token) onEnded(data.token);
  });
  return {
    ask: () => tell({ kind: 'asked' }),
    tellEnded: (ended) => tell({ kind: 'ended', token: ended }),
    leave: () => channel.close(),
  };
}
