/** The service of this page, with the token of the session. */
import { createContext, useContext } from 'react';
import { Tablog } from '../../../clients/typescript/src/index.ts';
import { parseJson } from '../ui/json-tokens.ts';

/** Relative to the page, which may be behind a path prefix of a proxy. */
export const serviceUrl = new URL('.', location.href).href;

/** How long a request without an answer is repeated, in milliseconds. Short, because a person waits. */
const patienceMs = 5000;

export function openService(token: string): Tablog {
  return new Tablog({ url: serviceUrl, token, patienceMs, parseJson });
}

/** The service, and a function that ends the session. */
interface SessionValue {
  readonly tablog: Tablog;
  readonly token: string;
  readonly signOut: () => void;
}

export const SessionContext = createContext<SessionValue | null>(null);

/** Throws if there is no session. */
export function useSession(): SessionValue {
  const value = useContext(SessionContext);
  if (value === null) throw new Error('there is no session');
  return value;
}
