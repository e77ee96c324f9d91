/** The operations of the routes about the team that asks, and its token. */
import { z } from 'zod';
import { json, type Operation } from '../operation.ts';

const teamId = z.uuid().meta({ description: 'The ID of the team.' });
const exampleTeam = { id: '0199c2f0-11aa-7c3e-9d41-7f2b6a5c8e10', name: 'acme' };

const token: Operation = {
  operationId: 'getToken',
  tag: 'Team',
  summary: 'Get the token of the request',
  description: 'Which team it is of, and what it may do.',
  answers: {
    200: {
      description: 'The token.',
      body: json(z.strictObject({
        data: z.strictObject({
          id: z.uuid().meta({ description: 'The ID of the token.' }),
          name: z.string(),
          team: z.strictObject({ id: teamId, name: z.string() }),
          readOnly: z.boolean(),
          appID: z.string().nullable().meta({ description: 'The only app that it is for; null: all of the team.' }),
          expires: z.iso.datetime().nullable().meta({ description: 'From when on it is refused; null: never.' }),
        }),
      }), {
        'of the team': {
          data: { id: '0199c2f1-2bd4-7e55-8a6c-3d9e0f1a2b3c', name: 'first', team: exampleTeam, readOnly: false, appID: null, expires: null },
        },
        'of an app, for reading': {
          data: {
            id: '0199c2f1-2bd4-7e55-8a6c-3d9e0f1a2b3d', name: 'the shop', team: exampleTeam, readOnly: true, appID: 'shop', expires: '2027-02-20T03:38:00.000Z',
          },
        },
      }),
    },
  },
};

export const teamOperations = { token };
