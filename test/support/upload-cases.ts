/** Tests of uploads for every kind of file store: spec sections 3, 4.8 and 4.9. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { ApiOfFile } from './api.ts';
import { outcomeOf } from './client.ts';
import { complete, postUpload, picture, sendBytes, upload } from './uploads.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The answers to bytes that should not be sent. They depend on the receiver. */
interface SendOutcomes {
  /** For a completed upload, and for one that was given up. */
  readonly completed: string;
  readonly ended: string;
  /** With another Content-Type than the upload's. */
  readonly otherType: string;
  /** For an altered URL. */
  readonly changed: string;
}

export function describeUploads({ api, client }: ApiOfFile, outcomes: SendOutcomes): void {
  test('bytes get a public URL when they are sent and completed', async () => {
    const bytes = randomBytes(300_000);
    const created = await postUpload(client());
    expect(created.id).toMatch(uuid);
    expect(outcomeOf(await complete(client(), created))).toBe('409 upload_incomplete');
    expect(await sendBytes(created, bytes)).toBe('200');
    const answer = await complete(client(), created);
    expect(outcomeOf(answer)).toBe('200');
    const { url } = answer.json.data;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/files\/[\w-]{22}\/photo\.png$/);
    const file = await fetch(url);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
    // Repeating the completion gives the same answer, and bytes that arrive later change nothing.
    expect(new URL((await complete(client(), created)).json.data.url).pathname).toBe(new URL(url).pathname);
    expect(await sendBytes(created, 'other')).toBe(outcomes.completed);
    expect(new URL((await complete(client(), created)).json.data.url).pathname).toBe(new URL(url).pathname);
    expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(bytes)).toBe(true);
  });

  test('when bytes are sent several times, the last ones count', async () => {
    const created = await postUpload(client());
    expect(await sendBytes(created, 'first, and longer')).toBe('200');
    expect(await sendBytes(created, 'second')).toBe('200');
    const { url } = (await complete(client(), created)).json.data;
    expect(await (await fetch(url)).text()).toBe('second');
  });

  test('an empty file is a file', async () => {
    const { url } = await upload(client(), '');
    const file = await fetch(url);
    expect([file.status, file.headers.get('content-length'), await file.text()]).toEqual([200, '0', '']);
  });

  test('a client can read a part of a file, and only its headers', async () => {
    const { url } = await upload(client(), '0123456789');
    const part = await fetch(url, { headers: { range: 'bytes=3-5' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 3-5/10', '345']);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('content-type')]).toEqual([
      200,
      '10',
      'image/png',
    ]);
  });

  test('several completions at once all get the same answer', async () => {
    const created = await postUpload(client());
    await sendBytes(created, 'bytes');
    const answers = await Promise.all(Array.from({ length: 8 }, () => complete(client(), created)));
    expect(new Set(answers.map(({ json }) => new URL(json.data.url).pathname)).size).toBe(1);
    expect(await (await fetch(answers[0]!.json.data.url)).text()).toBe('bytes');
  });

  describe('bytes', () => {
    test.each<[string, Readonly<Record<string, string>>]>([
      ['of another type', { 'content-type': 'image/jpeg' }],
      ['without a type', { 'content-type': '' }],
    ])('%s are refused', async (_what, headers) => {
      const created = await postUpload(client());
      expect(await sendBytes(created, 'bytes', headers)).toBe(outcomes.otherType);
      expect(outcomeOf(await complete(client(), created))).toBe('409 upload_incomplete');
    });

    test('for the URL of another upload are refused', async () => {
      const [created, other] = [await postUpload(client()), await postUpload(client())];
      const location = created.location.replace(created.id, other.id);
      expect(await sendBytes({ location }, 'bytes')).toBe(outcomes.changed);
      expect(outcomeOf(await complete(client(), other))).toBe('409 upload_incomplete');
    });

    test('do not arrive when they stop in the middle', async () => {
      const created = await postUpload(client());
      const cut = new ReadableStream({
        start: (controller) => controller.enqueue(randomBytes(1000)),
        pull: (controller) => controller.error(new Error('the client has gone')),
      });
      await expect(sendBytes(created, cut)).rejects.toThrow();
      expect(outcomeOf(await complete(client(), created))).toBe('409 upload_incomplete');
    });
  });

  describe('a completion', () => {
    test('by another team, in another app, or of an unknown upload is 404', async () => {
      const created = await postUpload(client());
      await sendBytes(created, 'bytes');
      const stranger = (await api().createTeam()).client;
      expect(outcomeOf(await complete(stranger, created))).toBe('404 upload_not_found');
      expect(outcomeOf(await complete(client(), created, 'another'))).toBe('404 upload_not_found');
      expect(outcomeOf(await complete(client(), { id: '0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e' }))).toBe(
        '404 upload_not_found',
      );
      expect(outcomeOf(await complete(client(), { id: 'nonsense' }))).toBe('404 upload_not_found');
      expect(outcomeOf(await complete(client(), created))).toBe('200');
    });

    test('beyond the plan is 402, and the file is gone', async () => {
      const team = await api().createTeam();
      await team.setPlan({ uploadBytesMax: 10 });
      const first = await upload(team.client, '12345678');
      const second = await postUpload(team.client);
      await sendBytes(second, '123');
      expect(outcomeOf(await complete(team.client, second))).toBe('402 payment_required');
      expect(outcomeOf(await complete(team.client, second))).toBe('404 upload_not_found');
      expect(await sendBytes(second, '123')).toBe(outcomes.ended);
      await upload(team.client, '12');
      expect((await fetch(first.url)).status).toBe(200);
    });

    test('passes for one of two at the edge of the plan', async () => {
      const team = await api().createTeam();
      await team.setPlan({ uploadBytesMax: 100 });
      const created = await Promise.all(Array.from({ length: 6 }, () => postUpload(team.client)));
      for (const one of created) await sendBytes(one, 'x'.repeat(30));
      const outcomes = (await Promise.all(created.map((one) => complete(team.client, one)))).map(outcomeOf).toSorted();
      expect(outcomes).toEqual([
        '200',
        '200',
        '200',
        '402 payment_required',
        '402 payment_required',
        '402 payment_required',
      ]);
    });

    test('and a creation of a suspended team are 402, and so are its files until the team is resumed', async () => {
      const team = await api().createTeam();
      const file = await upload(team.client, 'bytes');
      const created = await postUpload(team.client);
      await sendBytes(created, 'bytes');
      await team.suspend();
      expect(outcomeOf(await team.client.post('/apps/shop/uploads', picture))).toBe('402 payment_required');
      expect(outcomeOf(await complete(team.client, created))).toBe('402 payment_required');
      expect((await fetch(file.url)).status).toBe(402);
      await team.resume();
      expect((await fetch(file.url)).status).toBe(200);
      expect(outcomeOf(await complete(team.client, created))).toBe('200');
    });
  });
}
