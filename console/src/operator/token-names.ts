import { showTime } from '../ui/format.ts';

interface Named {
  readonly id: string;
  readonly name: string;
  readonly created: string;
  readonly endsIn: string | null;
}

/** Distinct names for tokens, by ID: the name, and a detail if several tokens have that name. */
export function namesOfTokens(tokens: readonly Named[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of tokens) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    tokens.map((token) => {
      const { id, name } = token;
      return [
        id,
        name !== '' && name !== nameless && counts.get(name) === 1
          ? name
          : `${name || nameless}, created ${showTime(token.created)} (${endOf(token)})`,
      ];
    }),
  );
}

/**
 * The name that earlier versions of the service gave to tokens without one. Now the name contains the time of creation
 * and the last characters.
 */
const nameless = 'unnamed';

/** The last characters of a token or, if the service does not know them, of its ID. */
function endOf({ id, endsIn }: Named): string {
  return endsIn === null ? `ID …${id.slice(-4)}` : `…${endsIn}`;
}
