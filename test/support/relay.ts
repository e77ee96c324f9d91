/** A proxy that records requests and injects the faults of networks and proxies. */
import { once } from 'node:events';
import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * The fault of a request. `pass`: none. `lose`: the server gets the request, but the answer is lost. `cut`: half of the
 * answer's body arrives, then the connection breaks. `busy`: the server does not get the request, and the answer is
 * 503. `hold`: the request is held until the relay is closed.
 */
export type RelayFault = 'pass' | 'lose' | 'cut' | 'busy' | 'hold';

interface Passed {
  readonly method: string;
  readonly path: string;
  readonly fault: RelayFault;
  /** The status of the server's answer; null if there was none. */
  readonly status: number | null;
}

export class Relay {
  readonly #server = createServer((request, response) => void this.#pass(request, response));
  readonly #target: string;
  readonly #passed: Passed[] = [];
  #held = 0;
  /** Called for each request; `attempt` counts from 0 for each method and path. */
  faultFor: (method: string, path: string, attempt: number) => RelayFault = () => 'pass';
  readonly #attempts = new Map<string, number>();

  private constructor(target: string) {
    this.#target = target;
  }

  /** `target` is the URL of the server. */
  static async open(target: string): Promise<Relay> {
    const relay = new Relay(target);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The requests so far, in the order in which they ended. */
  get passed(): readonly Passed[] {
    return this.#passed;
  }

  /** The number of held requests. */
  get held(): number {
    return this.#held;
  }

  /** Forgets the requests so far, and stops injecting faults. */
  reset(): void {
    this.#passed.length = 0;
    this.#held = 0;
    this.#attempts.clear();
    this.faultFor = () => 'pass';
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method!;
    const path = request.url!;
    const attempt = this.#attempts.get(`${method} ${path}`) ?? 0;
    this.#attempts.set(`${method} ${path}`, attempt + 1);
    const fault = this.faultFor(method, path, attempt);
    const note = (status: number | null): void => void this.#passed.push({ method, path, fault, status });
    try {
      const body = await buffer(request);
      if (fault === 'hold') {
        this.#held += 1;
        return;
      }
      if (fault === 'busy') {
        note(null);
        response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '0' });
        response.end('{"error":{"type":"service_unavailable","message":"The service is too busy."}}');
        return;
      }
      const answer = await ask(`${this.#target}${path}`, request, body);
      note(answer.status);
      if (fault === 'lose') {
        response.destroy();
        return;
      }
      response.writeHead(answer.status, answer.headers);
      if (fault === 'pass') {
        response.end(answer.body);
        return;
      }
      response.write(answer.body.subarray(0, Math.floor(answer.body.length / 2)), () => response.destroy());
    } catch {
      // The client went away, or the server cannot be reached. In both cases the relay does not answer.
      note(null);
      response.destroy();
    }
  }
}

interface RelayedAnswer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

/** The server's answer as sent, compressed or not. */
async function ask(url: string, { method, headers }: IncomingMessage, body: Buffer): Promise<RelayedAnswer> {
  const { host: _, ...kept } = headers;
  const asked = sendRequest(url, {
    method: method!,
    headers: { ...kept, 'content-length': body.length },
    agent: false,
  });
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const { 'transfer-encoding': _chunked, 'connection': _connection, ...rest } = answer.headers;
  const whole = await buffer(answer);
  return { status: answer.statusCode!, headers: { ...rest, 'content-length': String(whole.length) }, body: whole };
}
