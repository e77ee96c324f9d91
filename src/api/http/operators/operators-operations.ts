/** The operations of the routes of operators. */
import { z } from 'zod';
import { appId } from '../../../../commands/inputs.ts';
import { planChange } from '../../../../commands/plans.ts';
import { name } from '../../../../commands/teams.ts';
import { planQuotas, type PlanQuota } from '../../../language/events/quota.ts';
import type { ErrorType } from '../answers/error-types.ts';
import { json, type Answer, type Operation } from '../openapi/operation.ts';
import { teamLinks, tokenLinks } from '../openapi/links.ts';
import { continuation, examples, nothing } from '../openapi/schemas.ts';

const teamId = z.uuid().meta({ description: 'The ID of the team.' });
const moment = z.iso.datetime().nullable();
const count = z.int().min(0);
const limit = count.nullable().meta({ description: 'Null: no limit.' });

export const newTeamBody = z
  .strictObject({ name })
  .meta({ id: 'NewTeam', description: 'The name is a label, and need not be unique.' });

export const planBody = planChange
  .refine((plan) => Object.keys(plan).length > 0, 'must name a limit')
  .meta({
    id: 'PlanChange',
    minProperties: 1,
    description:
      'Limits of a team. What is left out stays as it is; null: the plan sets no limit, and the settings of the service count.',
  });

// Not zod's `default`: types that are generated from a document take a property with one as always there.
const expires = z.iso
  .datetime({ offset: true })
  .nullable()
  .optional()
  .transform((text) => (text === undefined || text === null ? null : Date.parse(text)))
  .meta({ description: 'From when on it is refused; null: never.' });

export const newOperatorTokenBody = z
  .strictObject({
    name: name
      .optional()
      .meta({ description: 'What it is for. Without it, the token is named by its creation and its last characters.' }),
    expires,
  })
  .meta({ id: 'NewOperatorToken' });

export const newTokenBody = newOperatorTokenBody
  .extend({
    readOnly: z
      .boolean()
      .optional()
      .transform((given) => given ?? false)
      .meta({ description: 'Whether it may change nothing.' }),
    appID: appId
      .nullable()
      .optional()
      .transform((given) => given ?? null)
      .meta({ description: 'The only app that it is for; null: all of the team.' }),
  })
  .meta({ id: 'NewToken' });

const team = z
  .strictObject({
    id: teamId,
    name: z.string(),
    suspended: z.boolean(),
    rows: count,
    rowsMax: limit,
    uploadBytes: count,
    uploadBytesMax: limit,
  })
  .meta({ id: 'TeamSummary' });

const quota = z.strictObject({
  used: count,
  max: limit,
  setBy: z.string().nullable().meta({ description: '`plan`, or the name of a setting; null if there is no limit.' }),
});

const teamDetails = team
  .extend({
    quarantinedSince: moment.meta({ description: 'Since when it is in quarantine; null: it is not.' }),
    quotas: z.strictObject(
      Object.fromEntries(planQuotas.map((name) => [name, quota])) as Record<PlanQuota, typeof quota>,
    ),
  })
  .meta({ id: 'Team' });

const operatorToken = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    created: moment.unwrap().meta({ description: 'When it was made.' }),
    endsIn: z
      .string()
      .nullable()
      .meta({ description: 'Its last characters; null: an earlier version of the service made it.' }),
    revoked: z.boolean(),
    expires: moment,
    lastUsed: moment.meta({ description: 'Known to the minute.' }),
  })
  .meta({ id: 'OperatorToken' });

const token = operatorToken.extend({ readOnly: z.boolean(), appID: z.string().nullable() }).meta({ id: 'Token' });

const secret = z.string().meta({ description: 'The token. It is shown this one time.' });
const madeOperatorToken = operatorToken
  .omit({ created: true, endsIn: true, revoked: true, lastUsed: true })
  .extend({ token: secret });
const madeToken = token.omit({ created: true, endsIn: true, revoked: true, lastUsed: true }).extend({ token: secret });

const partition = z
  .strictObject({
    partition: count,
    logEnd: z.string().meta({ description: 'The next offset of the log.' }),
    projected: z.string().meta({ description: 'The next offset to be projected.' }),
    behind: count.meta({ description: 'How many events are not projected yet.' }),
    version: z.string().meta({ description: 'The version of the next event to be projected.' }),
    epoch: z.string().meta({
      description: 'The fencing token of the process that projects the partition. It rises with each takeover.',
    }),
    halted: z.string().nullable().meta({ description: 'Why the partition has halted; null: it has not.' }),
    contradicted: z.boolean().meta({ description: 'Whether it has halted because its log lacks what was projected.' }),
    quarantined: z.array(teamId).meta({ description: 'The teams in quarantine.' }),
  })
  .meta({ id: 'Partition' });

const quarantine = z
  .strictObject({
    teamID: teamId,
    name: z.string().nullable().meta({ description: 'Null if the event that created the team is held.' }),
    partition: count,
    offset: z.string().meta({ description: 'The event that failed.' }),
    since: z.iso.datetime(),
    reason: z.string(),
    eventsSince: z
      .string()
      .meta({ description: 'How many events of all teams of the partition came since: no more are held.' }),
  })
  .meta({ id: 'Quarantine' });

const exampleTeam = {
  id: examples.tableId,
  name: 'acme',
  suspended: false,
  rows: 406,
  rowsMax: 5_000_000,
  uploadBytes: 0,
  uploadBytesMax: null,
};
const exampleQuotas = Object.fromEntries(planQuotas.map((name) => [name, { used: 0, max: null, setBy: null }]));
const exampleDetails = {
  ...exampleTeam,
  quarantinedSince: null,
  quotas: { ...exampleQuotas, rows: { used: 406, max: 5_000_000, setBy: 'plan' } },
};
const exampleToken = { id: examples.tableId, name: 'console', expires: '2027-01-31T00:00:00.000Z' };
const inUse = {
  ...exampleToken,
  created: '2026-01-31T08:00:00.000Z',
  endsIn: '9c41f0',
  revoked: false,
  lastUsed: '2026-11-22T09:14:00.000Z',
};
const exampleSecret = 'tablog_mV0aZ3lqT1uHq5o2bR8x6wmV0aZ3lqT1uHq5o2bR8x6_0a1b2c3d';

/** An operation that is no command of a team: it knows no `Idempotency-Key`. */
function operation(
  operationId: string,
  summary: string,
  description: string,
  { errors = [], ...rest }: Pick<Operation, 'answers' | 'body' | 'errors'>,
): Operation {
  // Bodies are read by what reads rows: an array may have too many columns.
  const ofBody: readonly ErrorType[] = rest.body === undefined ? [] : ['limit_exceeded'];
  return {
    operationId,
    tag: 'Operators',
    summary,
    description,
    isCommand: false,
    errors: [...ofBody, ...errors],
    ...rest,
  };
}

function answerOf(description: string, schema: z.ZodType, example: unknown): Answer {
  return { description, body: json(z.strictObject({ data: schema }), { example: { data: example } }) };
}

function pageOf(description: string, item: z.ZodType, example: unknown): Answer {
  return {
    description,
    body: json(z.strictObject({ data: z.array(item), continuation }), { example: { data: [example] } }),
  };
}

const shownTeam = { 200: answerOf('The team, as it is now.', teamDetails, exampleDetails) };

export const operatorOperations = {
  listTeams: operation('listTeams', 'List teams', 'All teams, in the order in which they were created, page by page.', {
    answers: { 200: pageOf('Teams, and where to go on.', team, exampleTeam) },
  }),
  createTeam: operation('createTeam', 'Create a team', 'A team without tokens and tables.', {
    body: json(newTeamBody, { team: { name: 'acme' } }),
    answers: { 201: { ...answerOf('The team was created.', teamDetails, exampleDetails), links: teamLinks } },
    errors: ['outcome_unknown'],
  }),
  getTeam: operation(
    'getTeam',
    'Get a team',
    'A team, and for each quota what it uses, how much it may use, and what says so. Bytes of the log are those of today (UTC).',
    {
      answers: shownTeam,
      errors: ['team_not_found'],
    },
  ),
  setPlan: operation(
    'setPlan',
    'Set the plan of a team',
    'Limits what the team may have. Limits that are not named stay as they are.',
    {
      body: json(planBody, {
        'limits': { rowsMax: 5_000_000, logBytesPerDayMax: 10_000_000_000 },
        'a limit removed': { rowsMax: null },
      }),
      answers: shownTeam,
      errors: ['team_not_found', 'outcome_unknown'],
    },
  ),
  suspendTeam: operation(
    'suspendTeam',
    'Suspend a team',
    'Its tables, and the URLs of its files, are answered 402 from then on.',
    {
      answers: shownTeam,
      errors: ['team_not_found', 'outcome_unknown'],
    },
  ),
  resumeTeam: operation('resumeTeam', 'Resume a team', 'Ends its suspension.', {
    answers: shownTeam,
    errors: ['team_not_found', 'outcome_unknown'],
  }),
  listTeamTokens: operation(
    'listTeamTokens',
    'List the tokens of a team',
    'Those that were revoked or have expired too, in the order in which they were created.',
    {
      answers: { 200: pageOf('Tokens, and where to go on.', token, { ...inUse, readOnly: true, appID: null }) },
      errors: ['team_not_found'],
    },
  ),
  createTeamToken: operation(
    'createTeamToken',
    'Create a token of a team',
    'The answer is the only one that shows the token.',
    {
      body: json(newTokenBody, {
        'for reading': { name: 'reports', readOnly: true, expires: '2027-01-31T00:00:00Z' },
        'for an app': { name: 'the shop', appID: 'shop' },
      }),
      answers: {
        201: {
          ...answerOf('The token.', madeToken, { ...exampleToken, readOnly: true, appID: null, token: exampleSecret }),
          links: tokenLinks,
        },
      },
      errors: ['team_not_found', 'outcome_unknown'],
    },
  ),
  listOperatorTokens: operation(
    'listOperatorTokens',
    'List the tokens of operators',
    'Those that were revoked or have expired too, in the order in which they were created.',
    {
      answers: { 200: pageOf('Tokens, and where to go on.', operatorToken, inUse) },
    },
  ),
  createOperatorToken: operation(
    'createOperatorToken',
    'Create a token of an operator',
    'The answer is the only one that shows the token. It is good for `/admin`, and for nothing else.',
    {
      body: json(newOperatorTokenBody, { token: { name: 'console', expires: '2027-01-31T00:00:00Z' } }),
      answers: {
        201: {
          ...answerOf('The token.', madeOperatorToken, { ...exampleToken, token: exampleSecret }),
          links: tokenLinks,
        },
      },
    },
  ),
  revokeToken: operation(
    'revokeToken',
    'Revoke a token',
    'A token of a team, or of an operator. It is refused within two seconds, even while the log takes no events.',
    {
      answers: { 200: { description: 'The token is revoked.', body: json(nothing, { revoked: {} }) } },
      errors: ['token_not_found'],
    },
  ),
  listPartitions: operation(
    'listPartitions',
    'List the partitions of the log',
    'All of them, whichever process projects them: how far each is projected, and why it has halted.',
    {
      answers: {
        200: answerOf('The partitions.', z.array(partition), [
          {
            partition: 0,
            logEnd: '1042',
            projected: '1040',
            behind: 2,
            version: '1041',
            epoch: '7',
            halted: null,
            contradicted: false,
            quarantined: [],
          },
        ]),
      },
    },
  ),
  listQuarantine: operation(
    'listQuarantine',
    'List the teams in quarantine',
    'With the event that failed and why, the oldest first.',
    {
      answers: {
        200: answerOf('The teams in quarantine.', z.array(quarantine), [
          {
            teamID: examples.tableId,
            name: 'acme',
            partition: 3,
            offset: '40',
            since: '2026-11-22T09:14:00.000Z',
            reason: 'unexpected type',
            eventsSince: '12',
          },
        ]),
      },
    },
  ),
  releaseTeam: operation(
    'releaseTeam',
    'Release a team from quarantine',
    'Projects the events of the team that were held, once the cause is removed, and lets it go on. A team that is in no quarantine stays as ' +
      'it is. If the request is cut off, the next one goes on from there.',
    {
      answers: {
        200: answerOf(
          'Whether the team goes on, or which event failed again.',
          z.strictObject({ teamID: teamId, released: z.boolean(), error: z.string().nullable() }),
          {
            teamID: examples.tableId,
            released: true,
            error: null,
          },
        ),
      },
      errors: ['team_not_found'],
    },
  ),
} as const satisfies Record<string, Operation>;
