/** Events of a partition of the log itself. They belong to no team. */
import { base, defineEvent, json } from './define-event.ts';

export const generationStarted = defineEvent({
  type: 'GenerationStarted',
  language: 1,
  fields: { logId: json<string>(), base },
});

/**
 * A part of the log was lost, or may have been. From this event on, the base is at least this, which is above every
 * version of the lost part. So no version is used twice.
 */
export const logResumed = defineEvent({ type: 'LogResumed', language: 1, fields: { base } });
