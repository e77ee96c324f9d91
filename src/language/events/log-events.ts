/** Events of a partition of the log itself. They are of no team. */
import { base, defineEvent, json } from './define-event.ts';

export const generationStarted = defineEvent({
  type: 'GenerationStarted',
  language: 1,
  fields: { logId: json<string>(), base },
});

/**
 * A part of the log was lost, or may have been. From here on the base is at least this, so that no version is given out
 * a second time: it is above every version of the lost part.
 */
export const logResumed = defineEvent({ type: 'LogResumed', language: 1, fields: { base } });
