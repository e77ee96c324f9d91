/**
 * Finds the things that an event names: those that decisions look up, and those that the list of jobs shows. The roles
 * of its fields determine them.
 */
import type { Profile } from '../values/profile.ts';
import type { Role } from './define-event.ts';
import { definitionOf, type EventData } from './event.ts';
import type { RowAddress } from './row-id.ts';
import { profileIn, type RowSource } from './row-source.ts';

/** The value of a field, by its role. */
interface NamedByRole {
  readonly base: bigint;
  readonly team: string;
  readonly token: string;
  readonly table: string;
  readonly newTable: string;
  readonly row: RowAddress;
  readonly upload: string;
  readonly stash: string;
  readonly body: string;
  readonly rows: RowSource;
  readonly profile: Profile;
}

/** For each type, its fields that have a role. */
const fieldsByRole = new Map<string, Partial<Record<Role, string>>>();

/** The thing that an event names in this role; null if it has no such field. */
export function namedBy<R extends Role>(data: EventData, role: R): NamedByRole[R] | null {
  const name = fieldsOf(data.type)[role];
  return name === undefined ? null : ((data as unknown as Readonly<Record<string, unknown>>)[name] as NamedByRole[R]);
}

function fieldsOf(type: string): Partial<Record<Role, string>> {
  let fields = fieldsByRole.get(type);
  if (fields === undefined) {
    const declared = Object.entries(definitionOf(type)?.fields ?? {});
    fields = Object.fromEntries(declared.flatMap(([name, { role }]) => (role === undefined ? [] : [[role, name]])));
    fieldsByRole.set(type, fields);
  }
  return fields;
}

/** The team of an event, even if a newer version declared its type. Empty for events of the log itself. */
export function teamOf(data: EventData): string {
  return namedBy(data, 'team') ?? ('teamId' in data ? data.teamId : '');
}

/** The table that an event creates or changes. */
export function tableOf(data: EventData): string | null {
  return namedBy(data, 'table') ?? namedBy(data, 'newTable');
}

/** Where the rows of an event are; null if it is not about rows. */
export function rowsOf(data: EventData): RowSource | null {
  return namedBy(data, 'rows');
}

/** The profile of the rows that an event carries in its body; null if it carries none. */
export function profileOf(data: EventData): Profile | null {
  const source = rowsOf(data);
  return namedBy(data, 'profile') ?? (source && profileIn(source));
}

/** The name of the stash that an event imports; null if it imports none. */
export function importedStash(data: EventData): string | null {
  const source = rowsOf(data);
  return source?.kind === 'stash' ? source.stashId : null;
}

/** The stash that an event changes or imports. */
export function stashOf(data: EventData): string | null {
  return namedBy(data, 'stash') ?? importedStash(data);
}

/** The body that an event ends, because the event's rows are in the blocks of that body. */
export function endedBody(data: EventData): string | null {
  const source = rowsOf(data);
  return source?.kind === 'body' ? source.bodyId : null;
}
