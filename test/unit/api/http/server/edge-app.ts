/** An app with routes that show the edge, and a raw client for it. */
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect } from '@jest/globals';
import { pino } from 'pino';
import type { App } from '../../../../../src/api/http/server/app-type.ts';
import { buildApp, type AppDependencies } from '../../../../../src/api/http/server/app.ts';

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [key: string]: unknown;
}

export interface Edge {
  readonly app: App;
  /** What was logged, level debug and above. */
  readonly lines: LogLine[];
}

export const authorization = 'Bearer good-token';

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

export const edgeConfig: AppDependencies['config'] = {
  LOG_REQUESTS: false,
  REQUEST_IDLE_TIMEOUT_MS: 60_000,
  DRAIN_TIMEOUT_MS: 1_000,
  CONNECTIONS_MAX: 100,
  RATE_LIMIT_CONNECTIONS: 0,
  RATE_LIMIT_WINDOW_MS: 60_000,
  BODY_RATE_MIN: 1024,
  BODY_RATE_WINDOW_MS: 30_000,
  BODY_TIME_MAX_MS: 3_600_000,
};

/** Closes an app after the test. */
export function closeAfterTest(app: App): void {
  opened.push({ close: () => app.close() });
}

/** A principal but for its team. */
export const unlimited = { tokenId: 'token', readOnly: false, appId: null };

/** An app that is closed after the test. `good-token` is of team `t1`. */
export function buildEdge(routes: (app: App) => void, changes: Partial<AppDependencies> = {}): Edge {
  const lines: LogLine[] = [];
  const app = buildApp({
    config: edgeConfig,
    log: pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line) as LogLine) }),
    authenticate: (token) => (token === 'good-token' ? { ...unlimited, teamId: 't1' } : null),
    onRefusedToken: () => undefined,
    quarantinedSince: () => null,
    isLinked: () => false,
    checkHealth: () => ({ notReady: [], problems: [] }),
    observer: {
      began: () => undefined,
      rateLimited: () => undefined,
      shareRefused: () => undefined,
      connectionClosed: () => undefined,
      refused: () => undefined,
      ended: () => undefined,
    },
    routes,
    ...changes,
  });
  closeAfterTest(app);
  return { app, lines };
}

/** The app's port. */
export async function listen(app: App): Promise<number> {
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}

/** A connection that is cut after the test, and what has come on it. */
export class RawClient {
  readonly socket: Socket;
  received = '';

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text;
    });
    // A reset is one of the ways in which a server ends a connection; the tests look at what came before it.
    socket.on('error', () => {});
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const client = new RawClient(socket);
    opened.push({ close: () => socket.destroy() });
    await once(socket, 'connect');
    return client;
  }

  send(text: string | Uint8Array): void {
    this.socket.write(text);
  }

  /** Waits until what was received matches. */
  async see(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.received);
      if (match !== null) return match;
      if (this.socket.readableEnded || this.socket.destroyed) throw new Error(`the end came after: ${this.received}`);
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'end'), once(this.socket, 'close')]);
    }
  }

  /** Waits for the server to end the connection, and gives all that came. */
  async ended(): Promise<string> {
    if (!this.socket.readableEnded && !this.socket.destroyed) {
      await Promise.race([once(this.socket, 'end'), once(this.socket, 'close')]);
    }
    return this.received;
  }
}

/** The lines of a request, with the header that every request has. */
export function requestText(line: string, headers: readonly string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: here', `Authorization: ${authorization}`, ...headers, '', body].join('\r\n');
}

/** The body of an error. */
export function errorOf(type: string, message: unknown = expect.any(String)): object {
  return { error: { type, message } };
}

/** The body of a malformed request's refusal, whose message begins with the place. */
export function validationErrorAt(place: string): object {
  return errorOf('request_validation_error', expect.stringMatching(new RegExp(`^${place}: `)));
}

/** The pattern of an error answer as it comes over the wire. */
export function errorPattern(status: number, type: string): RegExp {
  const head = `HTTP/1\\.1 ${status} [^\\r]*\\r\\n(?:[^\\r]+\\r\\n)*\\r\\n`;
  return new RegExp(`^${head}\\{"error":\\{"type":"${type}","message":"[^"]+"\\}\\}$`);
}
