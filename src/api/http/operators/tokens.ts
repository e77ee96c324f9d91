/** The tokens of teams, and those of operators, for operators. */
import type { TokenSummary } from '../../../../projections/teams/teams.queries.ts';
import { normalId } from '../../../administration/ids.ts';
import {
  nameOfUnnamed,
  newToken,
  operatorTokenAsJson,
  recordToken,
  revokeToken,
  storeOperatorToken,
  toIso,
} from '../../../administration/tokens.ts';
import {
  listOperatorTokens,
  revokeOperatorToken,
  type OperatorToken,
} from '../../../storage/security/operator-tokens.ts';
import { HttpError } from '../answers/http-error.ts';
import { newOperatorTokenBody, newTokenBody, operatorOperations } from './operators-operations.ts';
import { pageQuery } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import { audited, findTeam, readBody, replyWith, replyWithPage, type OperatorsDependencies } from './common.ts';

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
      config: { operation: operatorOperations.listTeamTokens, forOperators: true },
    },
    async (request, reply) => {
      const { id } = await findTeam(teams, request);
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
    { config: { operation: operatorOperations.createTeamToken, forOperators: true } },
    async (request, reply) => {
      const { name: given, expires: expiresAt, readOnly, appID } = await readBody(request, newTokenBody);
      const made = newToken();
      const name = given ?? nameOfUnnamed(made, Date.now());
      const details = { tokenId: made.id, name, readOnly, appId: appID, expiresAt: toIso(expiresAt) };
      await audited(audit, request, 'token.create', details, async (details) => {
        const { id } = await findTeam(teams, request);
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
      config: { operation: operatorOperations.listOperatorTokens, forOperators: true },
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
    { config: { operation: operatorOperations.createOperatorToken, forOperators: true } },
    async (request, reply) => {
      const { name: given, expires: expiresAt } = await readBody(request, newOperatorTokenBody);
      const made = newToken();
      const name = given ?? nameOfUnnamed(made, Date.now());
      const details = { tokenId: made.id, operator: true, name, expiresAt: toIso(expiresAt) };
      await audited(audit, request, 'token.create', details, () =>
        storeOperatorToken(database.pool, made, name, expiresAt),
      );
      return replyWith(reply.code(201), { ...made, name, expires: toIso(expiresAt) });
    },
  );

  app.delete(
    '/admin/tokens/:tokenID',
    { config: { operation: operatorOperations.revokeToken, forOperators: true } },
    async (request, reply) => {
      const tokenId = normalId((request.params as { readonly tokenID: string }).tokenID);
      await audited(audit, request, 'token.revoke', { tokenId }, async (details) => {
        const ofOperator = tokenId === null ? null : await revokeOperatorToken(database.pool, tokenId);
        if (ofOperator !== null) return void Object.assign(details, { operator: true, name: ofOperator });
        const token = tokenId === null ? null : await teams.tokenOfTeam(tokenId);
        if (token === null) throw new HttpError('token_not_found', 'There is no such token.');
        Object.assign(details, { teamId: token.teamId, name: token.name });
        const untold = await revokeToken(database.pool, token, (work) => work(log));
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
