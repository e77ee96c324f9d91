/** What must hold for each answer, whatever was asked. */
import type { InterfaceDocument } from '../support/interface-document.ts';
import { checkShape } from '../support/shapes.ts';
import type { RawAnswer } from './answers.ts';
import type { FuzzRequest } from './requests.ts';
import type { FuzzTeam } from './things.ts';

/** IDs of tables and uploads, of jobs, and of public files. */
const idPattern =
  /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|(?<![\w-])[\w-]{92}(?![\w-])|(?<=\/files\/)[\w-]{22}(?=\/)/g;

/** Paths of teams. shapes.ts knows the shape of their successes too. */
const shaped = /^\/(tables|stashes|apps|jobs)(\/|\?|$)/;

export class AnswerChecker {
  readonly #document: InterfaceDocument;
  readonly #teams: readonly FuzzTeam[];
  /** The team that an ID is of: the first that received it. */
  readonly #owners = new Map<string, FuzzTeam>();

  constructor(document: InterfaceDocument, teams: readonly FuzzTeam[]) {
    this.#document = document;
    this.#teams = teams;
    for (const team of teams) {
      const { tables, uploads, jobs, files } = team.things;
      const ids = [
        ...[...tables, ...uploads].map(({ id }) => id),
        ...jobs,
        ...files.map((path) => path.split('/')[2]!),
      ];
      for (const id of ids) this.#owners.set(id, team);
    }
  }

  /**
   * What is wrong with the answer to a request of this team; null: nothing. `isFramed`: false if the bytes that were
   * sent may be another request than this one, or none.
   */
  problemOf(team: FuzzTeam, request: FuzzRequest, answer: RawAnswer, isFramed: boolean): string | null {
    if (answer.status >= 500) return `the status ${answer.status}, though nothing is overloaded`;
    const { method, status, headers } = { method: request.method, ...answer };
    try {
      const isText =
        /^(application\/json|text\/)/.test(headers.get('content-type') ?? '') && !request.target.startsWith('/files/');
      const text = new TextDecoder('utf-8', { fatal: isText, ignoreBOM: true }).decode(answer.body);
      // The router decodes the path, and ends it at a fragment.
      const path = decodedPath(request.target);
      const exchange = { method, path, status, headers, text };
      if (isFramed) this.#document.check(exchange);
      if (status >= 400 || (isFramed && shaped.test(path))) checkShape(exchange);
      return (
        (isFramed ? this.#undueSuccess(request, path, status) : null) ??
        this.#leakIn(team, request, `${[...headers].join('\n')}\n${text}`)
      );
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** A success that the token does not allow. */
  #undueSuccess({ method, rights }: FuzzRequest, path: string, status: number): string | null {
    const security = this.#document.operationOf({ method, path })?.security;
    if (status >= 400 || security?.length === 0) return null;
    if (rights === 'none') return 'a success without a valid token';
    const isForOperators = security?.some((scheme) => 'operator' in scheme) === true;
    if (isForOperators !== (rights === 'operator'))
      return `a success with the token of ${isForOperators ? 'a team' : 'an operator'}`;
    return rights === 'read' && method !== 'GET' && method !== 'HEAD' && !(method === 'POST' && path.endsWith('/query'))
      ? 'a write with a token that is for reading only'
      : null;
  }

  /** A secret or an ID of another team that the request itself did not contain. */
  #leakIn(team: FuzzTeam, request: FuzzRequest, text: string): string | null {
    // The URLs of files are public: whoever has one may read it. Operators see the names of all teams.
    if (request.target.startsWith('/files/') || (request.rights === 'operator' && request.target.startsWith('/admin/')))
      return null;
    const reader = request.rights === 'none' ? null : team;
    const sent = (secret: string): boolean =>
      request.target.includes(secret) || request.body?.includes(secret) === true;
    const leaked = this.#teams.find((other) => other !== reader && text.includes(other.marker) && !sent(other.marker));
    if (leaked !== undefined) return `the secret ${leaked.marker} of another team`;
    if (!shaped.test(request.target)) return null;
    for (const [id] of text.matchAll(idPattern)) {
      const owner = this.#owners.get(id);
      if (owner === undefined && reader !== null && !sent(id)) this.#owners.set(id, reader);
      if (owner !== undefined && owner !== reader && !sent(id)) return `the ID ${id} of another team`;
    }
    return null;
  }
}

function decodedPath(target: string): string {
  // The router takes it for the root.
  if (target === '*') return '/';
  const [path, ...query] = target
    .replace(/^https?:\/\/[^/]*/, '')
    .split('#', 1)[0]!
    .split('?');
  try {
    return [decodeURI(path!), ...query].join('?');
  } catch {
    // Broken percent-encoding is answered with 400, whatever the path.
    return [path, ...query].join('?');
  }
}
