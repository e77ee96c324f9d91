import { showTime } from '../ui/format.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** What to call each token, by ID: its name, and how it differs from others of that name. */
export function namesOfTokens(tokens: readonly Named[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of tokens) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(tokens.map(({ id, name }) => [id, name !== '' && name !== nameless && counts.get(name) === 1 ? name : `${name || nameless}, ${describeId(id)}`]));
}

/** Earlier versions of the service gave this name to tokens without one. Now it names them by their creation and their last characters. */
const nameless = 'unnamed';

/** When an ID was made, if it says so, and its last characters. */
function describeId(id: string): string {
  const end = `…${id.slice(-4)}`;
  // UUIDs of version 7 begin with the milliseconds since 1970.
  const [, high, low] = /^([\da-f]{8})-([\da-f]{4})-7/.exec(id) ?? [];
  return high === undefined ? end : `created ${showTime(new Date(Number.parseInt(high + low!, 16)).toISOString())} (${end})`;
}
