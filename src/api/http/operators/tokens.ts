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

// Not zod's `default`: types that are generated from a document take a property with one as always there.
const expires = z.iso
  .datetime({ offset: true })
  .nullable()
  .optional()
  .transform((text) => (text === undefined || text === null ? null : Date.parse(text)))
  .meta({ description: 'From when on it is refused; null: never.' });

const newOperatorTokenBody = z
  .strictObject({
    name: tokenName
      .optional()
      .meta({ description: 'What it is for. Without it, the token is named by its creation and its last characters.' }),
    expires,
  })
  .meta({ id: 'NewOperatorToken' });

const newTokenBody = newOperatorTokenBody
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

/** Of an operator. */
function showOperatorToken(token: OperatorToken): object {
  const { createdAt, expiresAt, lastUsedAt, ...rest } = operatorTokenAsJson(token);
  return { ...rest, created: createdAt, expires: expiresAt, lastUsed: lastUsedAt };
}

/** Of a team. */
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
        'Those that were revoked or have expired too, in the order in which they were created.',
        {
          path: pathOfTeam,
          answers: {
            200: answerWithPage('Tokens, and where to go on.', token, { ...inUse, readOnly: true, appID: null }),
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
      config: forOperators(
        'createTeamToken',
        'Create a token of a team',
        'The answer is the only one that shows the token.',
        {
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
        },
      ),
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
        'Those that were revoked or have expired too, in the order in which they were created.',
        { answers: { 200: answerWithPage('Tokens, and where to go on.', operatorToken, inUse) } },
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
        'The answer is the only one that shows the token. It is good for `/admin`, and for nothing else.',
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
        'A token of a team, or of an operator. It is refused within two seconds, even while the log takes no events.',
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
            'the log could not be told that a token is revoked; it is tried again',
          );
      });
      return reply.type('application/json; charset=utf-8').send('{}');
    },
  );
}
