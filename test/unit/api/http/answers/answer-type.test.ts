/** `Accept`: which media type an answer has, and 406. */
import { describe, expect, test } from '@jest/globals';
import { chooseType } from '../../../../../src/api/http/answers/answer-type.ts';
import { jsonContent } from '../../../../../src/api/http/openapi/operation.ts';
import { z } from 'zod';
import { authorization, buildEdge, errorOf } from '../server/edge-app.ts';

const [anyJson, csv] = ['application/json', 'text/csv'];

test.each<[accept: string | undefined, type: string | null]>([
  [undefined, anyJson],
  ['', anyJson],
  ['*', anyJson],
  ['*/*', anyJson],
  ['application/*', anyJson],
  ['application/json', anyJson],
  ['application/json; charset=utf-8', anyJson],
  ['application/json;odata=verbose', anyJson],
  ['Application/JSON;q=0.1', anyJson],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', anyJson],
  ['application/json, text/plain, */*', anyJson],
  ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', anyJson],
  ['application/json;constructor=x', anyJson],
  ['text/csv', csv],
  ['TEXT/CSV', csv],
  ['text/*', csv],
  ['text/csv; header=present; charset=utf-8', csv],
  ['text/csv, */*', csv],
  ['text/csv, application/json', csv],
  ['application/json;q=0.5, text/csv', csv],
  ['application/json;q=0, */*', csv],
  ['text/csv;q=0.5, application/json', anyJson],
  ['text/csv ; header=x ; q=0.5, application/json', anyJson],
  ['text/html', null],
  ['application/xml, image/*', null],
  ['application/json;q=0', null],
  ['text/csv;q=0, text/*', null],
  ['json/application', null],
  ['/', null],
])('Accept: %s gives %s', (accept, type) => {
  expect(chooseType(accept, [anyJson, csv])).toBe(type);
});

test.each(['a/b,', 'a/b;c="d,', 'text/csv;q=0.00001,', '; ', ';a', '"/,'])(
  'a header of many times %j is read in a few milliseconds',
  (part) => {
    const accept = part.repeat(16_000 / part.length);
    expect([anyJson, csv, null]).toContain(chooseType(accept, [anyJson, csv]));
  },
);

describe('a route', () => {
  const operation = { operationId: 'x', tag: 'Tables', summary: '', description: '' } as const;
  const one = { ...operation, answers: { 200: { description: '', body: jsonContent(z.unknown(), {}) } } };
  const none = { ...operation, answers: { 200: { description: '' } } };
  const file = {
    ...operation,
    answers: { 200: { description: '', body: { '*/*': { schema: z.string(), examples: {} } } } },
  };
  let written = 0;
  const edge = () =>
    buildEdge((server) => {
      server.get('/one', { config: { operation: one } }, () => ({ data: 1 }));
      server.post('/one', { config: { operation: { ...one, operationId: 'y' } } }, () => ({ data: (written += 1) }));
      server.delete('/none', { config: { operation: { ...none, operationId: 'z' } } }, (_request, reply) =>
        reply.send(),
      );
      server.get('/file', { config: { operation: { ...file, operationId: 'w' } } }, (_request, reply) =>
        reply.type('image/png').send('x'),
      );
    });
  const ask = (
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    accept: string,
    headers: Record<string, string> = { authorization },
  ) => edge().app.inject({ method, url, headers: { ...headers, accept } });

  test('answers 406 if the client accepts none of its types, and does nothing', async () => {
    for (const method of ['GET', 'POST'] as const) {
      const answer = await ask(method, '/one', 'text/html');
      expect([answer.statusCode, answer.json()]).toEqual([
        406,
        errorOf('not_acceptable', 'Accept: this path has none of these media types. It answers with application/json.'),
      ]);
    }
    expect(written).toBe(0);
  });

  test('checks the token first', async () => {
    expect((await ask('GET', '/one', 'text/html', {})).json()).toEqual(errorOf('request_error'));
  });

  test.each([
    ['GET', '/one', '*/*'],
    ['DELETE', '/none', 'text/html'],
    ['GET', '/file', 'text/html'],
  ] as const)('%s %s with Accept: %s is answered', async (method, url, accept) => {
    expect((await ask(method, url, accept)).statusCode).toBe(200);
  });

  test('errors are JSON, whatever the client accepts', async () => {
    const answer = await ask('GET', '/nothing', 'text/html');
    expect([answer.statusCode, answer.json()]).toEqual([404, errorOf('not_found')]);
  });
});
