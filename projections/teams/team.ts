/** Teams and tokens, and their changes. */
import type { PlanLimits, Quota, Usage } from '../../src/language/events/quota.ts';

/**
 * A team, with what it uses and what its plan allows. A stash, body or upload that has expired counts until the
 * periodic maintenance has appended its `StashExpired`, `BodyExpired` or `UploadChecked`.
 */
export interface Team extends Usage, PlanLimits {
  readonly id: string;
  readonly partition: number;
  readonly name: string;
  readonly created: bigint;
  readonly suspended: boolean;
}

export interface Token {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string;
  /** The version of the event that created it, and the time of its record in milliseconds. */
  readonly created: bigint;
  readonly createdAt: number;
  /** The token's last characters; null: unknown. */
  readonly endsIn: string | null;
  /** The token is refused from this log time on, in milliseconds; null: never. */
  readonly expiresAt: number | null;
  readonly readOnly: boolean;
  /** The app to which the token is limited; null: the whole team. */
  readonly appId: string | null;
  readonly revoked: boolean;
}

/** A team uses more or less of a quota. In a decision, this change comes after the changes of the whole team. */
export interface UsageChange {
  readonly kind: 'usage';
  readonly teamId: string;
  readonly quota: Quota;
  readonly by: number;
}

export type TeamChange = { readonly kind: 'team'; readonly team: Team } | UsageChange;
export type TokenChange = { readonly kind: 'token'; readonly token: Token };
