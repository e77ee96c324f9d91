/** Events of teams, their plans and tokens. */
import type { Refusal } from '../values/refusal.ts';
import { defineEvent, json, optional, team, token } from './define-event.ts';

export const teamCreated = defineEvent({
  type: 'TeamCreated',
  language: 1,
  fields: { teamId: team, name: json<string>() },
});
export const teamSuspended = defineEvent({ type: 'TeamSuspended', language: 1, fields: { teamId: team } });
export const teamResumed = defineEvent({ type: 'TeamResumed', language: 1, fields: { teamId: team } });

const planLimit = optional(json<number | null>());

/** Limits of a plan. An absent limit is unchanged. */
export const teamPlanSet = defineEvent({
  type: 'TeamPlanSet',
  language: 1,
  fields: {
    teamId: team,
    rowsMax: planLimit,
    tablesMax: planLimit,
    stashesMax: planLimit,
    openBodiesMax: planLimit,
    openUploadsMax: planLimit,
    openUploadBytesMax: planLimit,
    uploadBytesMax: planLimit,
    logBytesPerDayMax: planLimit,
  },
});

/** In logs from before tokens had limits, tokens never expire and cover the whole team. */
export const tokenCreated = defineEvent({
  type: 'TokenCreated',
  language: 1,
  fields: {
    teamId: team,
    tokenId: token,
    name: json<string>(),
    /** SHA-256 of the token, in hexadecimal. */
    hash: json<string>(),
    /** Expiry in milliseconds of log time: the token is refused from then on; null: never. */
    expiresAt: json<number | null>({ absent: null }),
    /** Whether it may only read. */
    readOnly: json<boolean>({ absent: false }),
    /** The only app that the token grants access to; null: the whole team. */
    appId: json<string | null>({ absent: null }),
    /**
     * The last characters of the token (src/storage/security/access-token.ts); absent if an earlier version created it.
     */
    endsIn: optional(json<string>()),
  },
});

export const tokenRevoked = defineEvent({
  type: 'TokenRevoked',
  language: 1,
  fields: { teamId: team, tokenId: token },
});

/** The committed state refused a request, whose rows were dropped. This refusal is the outcome. */
export const requestRefused = defineEvent({
  type: 'RequestRefused',
  language: 1,
  fields: { teamId: team, refusal: json<Refusal>() },
});
