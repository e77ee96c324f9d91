import { onStopSignal } from '../app/stop-signals.ts';
import { writeWords } from './console.ts';
import { UserError } from './user-error.ts';

/** A signal that aborts with a UserError when this process receives a stop signal (SIGINT or SIGTERM). */
export function interruption(): AbortSignal {
  const stopping = new AbortController();
  onStopSignal(
    () => stopping.abort(new UserError('Interrupted.')),
    (words) => writeWords(`${words}.`),
  );
  return stopping.signal;
}
