/** The methods of each path, collected as routes are registered, for 405 and its `Allow` header. */
export class AllowedMethods {
  readonly #methodsByUrl = new Map<string, Set<string>>();

  /** `url` is a route's pattern, like `/tables/:tableID`. */
  add(url: string, methods: string | readonly string[]): void {
    const known = this.#methodsByUrl.get(url) ?? new Set();
    for (const method of [methods].flat()) known.add(method);
    this.#methodsByUrl.set(url, known);
  }

  /** The methods of a requested path, sorted; empty for an unknown path. */
  of(path: string): readonly string[] {
    const segments = path.split('/');
    const found = [...this.#methodsByUrl].filter(([url]) => matches(url.split('/'), segments));
    return [...new Set(found.flatMap(([, methods]) => [...methods]))].toSorted();
  }
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.length === segments.length
    && pattern.every((part, index) => part === segments[index] || (part.startsWith(':') && segments[index] !== ''));
}
