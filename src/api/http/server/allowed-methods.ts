/** The methods of each path, collected while routes are registered. Answers with 405 list them in `Allow`. */
export class AllowedMethods {
  readonly #methodsByUrl = new Map<string, Set<string>>();

  /** `url` is a route's pattern, like `/tables/:tableID`. */
  add(url: string, methods: string | readonly string[]): void {
    const known = this.#methodsByUrl.get(url) ?? new Set();
    for (const method of [methods].flat()) known.add(method);
    this.#methodsByUrl.set(url, known);
  }

  /** The methods of a request target, sorted; empty for an unknown path. */
  of(target: string): readonly string[] {
    const segments = routedPathOf(target).split('/');
    const found = [...this.#methodsByUrl].filter(([url]) => matches(url.split('/'), segments));
    return [...new Set(found.flatMap(([, methods]) => [...methods]))].toSorted();
  }
}

/**
 * The path as the router reads it: without scheme and host, up to a query or fragment, and percent-decoded. `*` is the
 * root.
 */
function routedPathOf(target: string): string {
  if (target === '*') return '/';
  const path = target.replace(/^https?:\/\/.*?\//, '/').split(/[?#]/, 1)[0]!;
  try {
    return decodeURI(path);
  } catch {
    // decodeURI throws only for broken escapes and invalid UTF-8. No known path has these.
    return path;
  }
}

/** An empty ID matches, as it does for the router. */
function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => part === segments[index] || part.startsWith(':'))
  );
}
