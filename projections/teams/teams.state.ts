/** Teams and their tokens, as a batch knows them. */
export interface Team {
  readonly id: string;
  readonly partition: number;
  readonly name: string;
  readonly created: bigint;
  readonly suspended: boolean;
  readonly rows: number;
  readonly rowsMax: number | null;
  /** Bytes of its files, and the plan's limit of them; null: none. */
  readonly uploadBytes: number;
  readonly uploadBytesMax: number | null;
  /**
   * Its uploads that were neither completed nor given up. One whose time is over is among them until maintenance has said so
   * (`UploadChecked`), which it does in its rounds.
   */
  readonly openUploads: number;
}

export interface Token {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string;
  readonly created: bigint;
  /** From this log time on it is refused, in milliseconds; null: never. */
  readonly expiresAt: number | null;
  readonly readOnly: boolean;
  /** The only app that it is for; null: for all of the team. */
  readonly appId: string | null;
  readonly revoked: boolean;
}

export type TeamChange = { readonly kind: 'team'; readonly team: Team };
export type TokenChange = { readonly kind: 'token'; readonly token: Token };

/** What decisions about teams read, and what others read of teams. */
export interface TeamStates {
  readonly teams: TeamsState;
}

export class TeamsState {
  readonly #teams = new Map<string, Team>();
  readonly #tokens = new Map<string, Token>();
  readonly #changedTeams = new Set<string>();
  readonly #changedTokens = new Set<string>();

  team(teamId: string): Team | null {
    return this.#teams.get(teamId) ?? null;
  }

  token(tokenId: string): Token | null {
    return this.#tokens.get(tokenId) ?? null;
  }

  all(): Iterable<Team> {
    return this.#teams.values();
  }

  put(team: Team): void {
    this.#teams.set(team.id, team);
  }

  putToken(token: Token): void {
    this.#tokens.set(token.id, token);
  }

  change({ team }: TeamChange): void {
    this.put(team);
    this.#changedTeams.add(team.id);
  }

  changeToken({ token }: TokenChange): void {
    this.putToken(token);
    this.#changedTokens.add(token.id);
  }

  changedTeams(): Team[] {
    return [...this.#changedTeams].map((id) => this.team(id)!);
  }

  changedTokens(): Token[] {
    return [...this.#changedTokens].map((id) => this.token(id)!);
  }
}
