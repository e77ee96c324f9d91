/**
 * The teams of a partition whose events are held because one of them cannot be projected (ARCHITECTURE.md,
 * "quarantine"). They are stored in the row of the partition's progress, so a batch that advances the progress reads
 * the teams that are held at exactly its offset.
 */
import { type EventData } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';

export interface HeldTeams {
  /** The stored form: JSON from team ID to `since`. */
  readonly text: string;
  /** By team, the log time in milliseconds since which its events are held. */
  readonly since: ReadonlyMap<string, number>;
}

export const noTeamsHeld: HeldTeams = { text: '{}', since: new Map() };

export function parseHeldTeams(text: string): HeldTeams {
  if (text === noTeamsHeld.text) return noTeamsHeld;
  return { text, since: new Map(Object.entries(JSON.parse(text) as Record<string, number>)) };
}

/** Why an event of a held team is not appended. */
export function heldMessage(data: EventData): string {
  return `team ${teamOf(data)} is in quarantine: one of its events cannot be projected; see \`tablog quarantine list\``;
}
