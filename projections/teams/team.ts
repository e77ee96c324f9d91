/** What teams and their tokens are, and how they change. */

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
