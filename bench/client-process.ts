/** The client as a child process: see `client.ts`. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ClientReply, ClientRequest, Measured } from './client.ts';
import { stop } from './processes.ts';

/**
 * Sends the client a request; resolves to its measurement, if any. Rejects if a server's answer was not as expected.
 */
export type Ask = (request: ClientRequest) => Promise<Measured | undefined>;

/** Starts the client, which `resources` stops. */
export function startClient(resources: AsyncDisposableStack, signal: AbortSignal): Ask {
  signal.throwIfAborted();
  const client = fork(join(import.meta.dirname, 'client.ts'));
  resources.defer(() => stop(client, 'client'));
  const died = new AbortController();
  client.once('exit', () => died.abort(new Error('the client died')));
  return async (request) => {
    signal.throwIfAborted();
    const either = AbortSignal.any([signal, died.signal]);
    client.send(request);
    try {
      const [reply] = (await once(client, 'message', { signal: either })) as [ClientReply];
      if ('error' in reply) throw new Error(reply.error);
      return reply.measured;
    } catch (error) {
      throw either.aborted ? either.reason : error;
    }
  };
}
