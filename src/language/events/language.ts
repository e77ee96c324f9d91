/**
 * The language of an event: a number that says which versions of the software can read it. A version that brings new
 * kinds of events, or a new format of records, gives them the next number, and they are written only once all live
 * processes read it (docs/decisions/0043).
 */
import { definitionOf, newestLanguage, type EventType } from './event.ts';

/** The newest language that this version reads. It reads all earlier ones too. */
export const eventLanguage = newestLanguage;

/** The language that a type of event came with. */
export function languageOf(type: EventType): number {
  return definitionOf(type)!.language;
}
