/** Teams and tokens, and their changes. */

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
   * Its uploads that are neither completed nor given up. An expired one counts until the periodic maintenance has appended its
   * `UploadChecked`.
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
  /** The log time from which on it is refused, in milliseconds; null: never. */
  readonly expiresAt: number | null;
  readonly readOnly: boolean;
  /** The app to which it is restricted; null: valid for the whole team. */
  readonly appId: string | null;
  readonly revoked: boolean;
}

export type TeamChange = { readonly kind: 'team'; readonly team: Team };
export type TokenChange = { readonly kind: 'token'; readonly token: Token };
