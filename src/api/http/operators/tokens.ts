/** The tokens of teams, and those of operators, for operators. */
import { z } from 'zod';
import { appId } from '../../../../commands/inputs.ts';
import { name as tokenName } from '../../../../commands/teams.ts';
import type { TokenSummary } from '../../../../projections/teams/teams.queries.ts';
import { normalId } from '../../../administration/ids.ts';
import {
  nameOfUnnamed,
  newToken,
  operatorTokenAsJson,
  recordToken,
  revokeTeamToken,
  storeOperatorToken,
  toIso,
} from '../../../administration/tokens.ts';
import {
  listOperatorTokens,
  revokeOperatorToken,
  type OperatorToken,
} from '../../../storage/security/operator-tokens.ts';
import { HttpError } from '../answers/http-error.ts';
import { jsonContent, linksTo, type Link } from '../openapi/operation.ts';
import { examples, nothing } from '../openapi/schemas.ts';
import { pageQuery } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import {
  auditedRequest,
  teamOfPath,
  readBody,
  replyWith,
  replyWithPage,
  type OperatorsDependencies,
} from './common.ts';
import { answerWithData, moment, forOperators, answerWithPage, pathOfTeam } from './operations.ts';

// Not zod's `default`: types that are generated from the document would say that the property is always present.
const expires = z.iso
  .datetime({ offset: true })
  .nullable()
  .optional()
  .transform((text) => (text === undefined || text === null ? null : Date.parse(text)))
  .meta({ description: 'When the token expires; null: never.' });

const newOperatorTokenBody = z
  .strictObject({
    name: tokenName.optional().meta({
      description: 'The purpose of the token. By default the name has its time of creation and its last characters.',
    }),
    expires,
  })
  .meta({ id: 'NewOperatorToken' });

const newTokenBody = newOperatorTokenBody
  .extend({
    readOnly: z
      .boolean()
      .optional()
      .transform((given) => given ?? false)
      .meta({ description: 'Whether the token may only read.' }),
    appID: appId
      .nullable()
      .optional()
      .transform((given) => given ?? null)
      .meta({ description: 'The only app that the token reaches; null: the whole team.' }),
  })
  .meta({ id: 'NewToken' });

const operatorToken = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    created: moment.unwrap().meta({ description: 'When the token was created.' }),
    endsIn: z
      .string()
      .nullable()
      .meta({ description: 'Its last characters; null if an earlier version of the service created it.' }),
    revoked: z.boolean(),
    expires: moment,
    lastUsed: moment.meta({ description: 'To the minute.' }),
  })
  .meta({ id: 'OperatorToken' });

const token = operatorToken.extend({ readOnly: z.boolean(), appID: z.string().nullable() }).meta({ id: 'Token' });

const secret = z.string().meta({ description: 'The token. No other answer shows it.' });
const madeOperatorToken = operatorToken
  .omit({ created: true, endsIn: true, revoked: true, lastUsed: true })
  .extend({ token: secret });
const madeToken = token.omit({ created: true, endsIn: true, revoked: true, lastUsed: true }).extend({ token: secret });

const tokenLinks: readonly Link[] = linksTo(['revokeToken'], { tokenID: '$response.body#/data/id' });

const exampleToken = { id: examples.tableId, name: 'console', expires: '2027-01-31T00:00:00.000Z' };
const inUse = {
  ...exampleToken,
  created: '2026-01-31T08:00:00.000Z',
  endsIn: '9c41f0',
  revoked: false,
  lastUsed: '2026-11-22T09:14:00.000Z',
};
const exampleSecret = 'tablog_mV0aZ3lqT1uHq5o2bR8x6wmV0aZ3lqT1uHq5o2bR8x6_0a1b2c3d';

/** The token of an operator, as JSON. */
function showOperatorToken(token: OperatorToken): object {
  const { createdAt, expiresAt, lastUsedAt, ...rest } = operatorTokenAsJson(token);
  return { ...rest, created: createdAt, expires: expiresAt, lastUsed: lastUsedAt };
}

/** The token of a team, as JSON. */
function showToken(token: TokenSummary): object {
  return { ...showOperatorToken(token), readOnly: token.readOnly, appID: token.appId };
}

export function addTokenRoutes(app: App, { log, teams, database, audit }: OperatorsDependencies): void {
  app.get(
    '/admin/teams/:teamID/tokens',
    {
      schema: { querystring: pageQuery('tokens') },
      config: forOperators(
        'listTeamTokens',
        'List the tokens of a team',
        'Includes revoked and expired tokens. Ordered by their creation.',
        {
          path: pathOfTeam,
          answers: {
            200: answerWithPage('Tokens, and the continuation.', token, { ...inUse, readOnly: true, appID: null }),
          },
          errors: ['team_not_found'],
        },
      ),
    },
    async (request, reply) => {
      const { id } = await teamOfPath(teams, request);
      return replyWithPage(
        reply,
        `tokens of ${id}`,
        request.query,
        (after, limit) => teams.tokens(id, after, limit),
        showToken,
      );
    },
  );

  app.post(
    '/admin/teams/:teamID/tokens',
    {
      config: forOperators('createTeamToken', 'Create a token of a team', 'No other answer shows the token.', {
        path: pathOfTeam,
        body: jsonContent(newTokenBody, {
          'for reading': { name: 'reports', readOnly: true, expires: '2027-01-31T00:00:00Z' },
          'for an app': { name: 'the shop', appID: 'shop' },
        }),
        answers: {
          201: {
            ...answerWithData('The token.', madeToken, {
              ...exampleToken,
              readOnly: true,
              appID: null,
              token: exampleSecret,
            }),
            links: tokenLinks,
          },
        },
        errors: ['team_not_found', 'outcome_unknown'],
      }),
    },
    async (request, reply) => {
      const { name: given, expires: expiresAt, readOnly, appID } = await readBody(request, newTokenBody);
      const made = newToken();
      const name = given ?? nameOfUnnamed(made, Date.now());
      const details = { tokenId: made.id, name, readOnly, appId: appID, expiresAt: toIso(expiresAt) };
      await auditedRequest(audit, request, 'token.create', details, async (details) => {
        const { id } = await teamOfPath(teams, request);
        details['teamId'] = id;
        await recordToken(log, id, made, name, { expiresAt, readOnly, appId: appID });
      });
      return replyWith(reply.code(201), { ...made, name, expires: toIso(expiresAt), readOnly, appID });
    },
  );

  app.get(
    '/admin/tokens',
    {
      schema: { querystring: pageQuery('tokens') },
      config: forOperators(
        'listOperatorTokens',
        'List the tokens of operators',
        'Includes revoked and expired tokens. Ordered by their creation.',
        { answers: { 200: answerWithPage('Tokens, and the continuation.', operatorToken, inUse) } },
      ),
    },
    (request, reply) =>
      replyWithPage(
        reply,
        'tokens',
        request.query,
        (after, limit) => listOperatorTokens(database.pool, after, limit),
        showOperatorToken,
      ),
  );

  app.post(
    '/admin/tokens',
    {
      config: forOperators(
        'createOperatorToken',
        'Create a token of an operator',
        'No other answer shows the token. The token works only on paths under `/admin`.',
        {
          body: jsonContent(newOperatorTokenBody, { token: { name: 'console', expires: '2027-01-31T00:00:00Z' } }),
          answers: {
            201: {
              ...answerWithData('The token.', madeOperatorToken, { ...exampleToken, token: exampleSecret }),
              links: tokenLinks,
            },
          },
        },
      ),
    },
    async (request, reply) => {
      const { name: given, expires: expiresAt } = await readBody(request, newOperatorTokenBody);
      const made = newToken();
      const name = given ?? nameOfUnnamed(made, Date.now());
      const details = { tokenId: made.id, operator: true, name, expiresAt: toIso(expiresAt) };
      await auditedRequest(audit, request, 'token.create', details, () =>
        storeOperatorToken(database.pool, made, name, expiresAt),
      );
      return replyWith(reply.code(201), { ...made, name, expires: toIso(expiresAt) });
    },
  );

  app.delete(
    '/admin/tokens/:tokenID',
    {
      config: forOperators(
        'revokeToken',
        'Revoke a token',
        'Revokes a token of a team or of an operator. The service refuses it within two seconds, even while the log accepts no events.',
        {
          path: {
            tokenID: z
              .string()
              .meta({ description: 'The ID of a token.', examples: ['0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e'] }),
          },
          answers: { 200: { description: 'The token is revoked.', body: jsonContent(nothing, { revoked: {} }) } },
          errors: ['token_not_found'],
        },
      ),
    },
    async (request, reply) => {
      const tokenId = normalId((request.params as { readonly tokenID: string }).tokenID);
      await auditedRequest(audit, request, 'token.revoke', { tokenId }, async (details) => {
        const ofOperator = tokenId === null ? null : await revokeOperatorToken(database.pool, tokenId);
        if (ofOperator !== null) return void Object.assign(details, { operator: true, name: ofOperator });
        const token = tokenId === null ? null : await teams.tokenOfTeam(tokenId);
        if (token === null) throw new HttpError('token_not_found', 'There is no such token.');
        Object.assign(details, { teamId: token.teamId, name: token.name });
        const untold = await revokeTeamToken(database.pool, token, (work) => work(log));
        if (untold !== null)
          request.log.warn(
            { err: untold, tokenId },
            'could not append the revocation of a token to the log; will try again',
          );
      });
      return reply.type('application/json; charset=utf-8').send('{}');
    },
  );
}
