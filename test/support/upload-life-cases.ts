/** Tests of the life of uploads and their bytes, for every kind of file store: spec section 3, decisions 3. */
import { pino } from 'pino';
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { checkUpload } from '../../commands/complete-upload.ts';
import { newFileName } from '../../src/storage/files/new-file-name.ts';
import type { FileStore } from '../../src/storage/files/file-store.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { recordFact } from '../../src/log/record-fact.ts';
import type { Service } from '../../src/app/service.ts';
import type { ApiOfFile } from './api.ts';
import { outcomeOf } from './client.ts';
import { sleepUntil } from './server.ts';
import { createTable } from './tables.ts';
import { hour, lifeMs, nameOf, openMax, statusOf, type File, type UploadLife } from './upload-life.ts';
import { complete, postUpload, picture, sendBytes, upload, withdraw } from './uploads.ts';

interface LifeOfTest extends ApiOfFile {
  operator(): Service;
  life(): UploadLife;
  /** Stores bytes for an upload that the service does not know. */
  leave(store: FileStore, uploadId: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Opens another, unused store. The caller closes it. */
  openOther(): Promise<FileStore>;
}

/** The answers to bytes that arrive after their upload has expired. They depend on the receiver. */
interface LifeOutcomes {
  readonly late: string;
}

export function describeUploadLife(
  { api, client, operator, life, leave, openOther }: LifeOfTest,
  outcomes: LifeOutcomes,
): void {
  test('an upload that is not completed in time can no longer be completed, ends with the next check, and its bytes are gone', async () => {
    const [sent, empty] = [await postUpload(client()), await postUpload(client())];
    expect(await sendBytes(sent, 'bytes')).toBe('200');
    expect(await life().stored()).toContain(sent.id);
    const { expires } = await life().rowOf(empty);
    await sleepUntil(() => operator().log.now() > expires + 2000, 'the uploads have expired');
    expect(outcomeOf(await complete(client(), sent))).toBe('404 upload_not_found');
    expect((await life().rowOf(sent)).removed).toBeNull();
    await life().untilEnded(empty);
    for (const one of [sent, empty]) {
      expect(outcomeOf(await complete(client(), one))).toBe('404 upload_not_found');
      // Its URL expires with the upload.
      expect(await sendBytes(one, 'late')).toBe(outcomes.late);
    }
    const held = await life().stored();
    expect([held.has(sent.id), held.has(empty.id)]).toEqual([false, false]);
  });

  test('an expired upload stays open until maintenance has seen it, and counts to the limit of open uploads', async () => {
    const { client: owner } = await api().createTeam();
    const created = [];
    while (created.length < openMax) created.push(await postUpload(owner));
    const next = await owner.post('/apps/shop/uploads', picture);
    expect([outcomeOf(next), next.json.error.message]).toEqual([
      '400 limit_exceeded',
      `the team has ${openMax} open uploads and may have at most ${openMax}: complete them, or wait until they expire`,
    ]);
    await life().untilEnded(created.at(-1)!);
    const answers = await Promise.all(
      Array.from({ length: openMax + 5 }, () => owner.post('/apps/shop/uploads', picture)),
    );
    expect(answers.map(outcomeOf).toSorted()).toEqual([
      ...Array(openMax).fill('200'),
      ...Array(5).fill('400 limit_exceeded'),
    ]);
  });

  test('a file that no row names is deleted after its time, and no longer counts to the plan', async () => {
    const team = await api().createTeam();
    await team.setPlan({ uploadBytesMax: 10 });
    const file = await upload(team.client, '12345678');
    const { since } = await life().rowOf(file);
    const refused = await postUpload(team.client);
    await sendBytes(refused, '12345678');
    expect(outcomeOf(await complete(team.client, refused))).toBe('402 payment_required');
    expect(await life().stored()).toContain(nameOf(file));
    await life().untilEnded(file);
    expect((await life().rowOf(file)).removed! - since!).toBeGreaterThanOrEqual(lifeMs);
    expect(await statusOf(file)).toBe(404);
    expect(outcomeOf(await complete(team.client, file))).toBe('404 upload_not_found');
    const held = await life().stored();
    expect([nameOf(file), file.id, refused.id].filter((name) => held.has(name))).toEqual([]);
    await upload(team.client, '1234567890');
  });

  test('a withdrawn file is gone at once, its bytes with the next maintenance, and it no longer counts to the plan', async () => {
    const team = await api().createTeam();
    await team.setPlan({ uploadBytesMax: 10 });
    const file = await upload(team.client, '12345678');
    const table = await createTable(team.client, [{ n: file.url }], { n: 'uri' });
    expect(outcomeOf(await withdraw(team.client, file))).toBe('200');
    expect(await statusOf(file)).toBe(404);
    expect(outcomeOf(await complete(team.client, file))).toBe('404 upload_not_found');
    // Rows keep the URL as text.
    expect(await team.client.rows(table.id)).toMatchObject([{ n: file.url }]);
    const other = await upload(team.client, '1234567890');
    await createTable(team.client, [{ n: other.url }], { n: 'uri' });
    await life().untilEnded(file);
    const held = await life().stored();
    expect([nameOf(file), file.id, nameOf(other)].filter((name) => held.has(name))).toEqual([nameOf(other)]);
    expect(await statusOf(other)).toBe(200);
  });

  test('an upload that is given up is no longer open, and its bytes are gone with the next maintenance', async () => {
    const { client: owner } = await api().createTeam();
    const sent = await postUpload(owner);
    expect(await sendBytes(sent, 'bytes')).toBe('200');
    const empty = await postUpload(owner);
    for (let open = 2; open < openMax; open += 1) await postUpload(owner);
    for (const one of [sent, empty]) {
      expect(outcomeOf(await withdraw(owner, one))).toBe('200');
      expect(outcomeOf(await complete(owner, one))).toBe('404 upload_not_found');
    }
    const answers = [
      await owner.post('/apps/shop/uploads', picture),
      await owner.post('/apps/shop/uploads', picture),
      await owner.post('/apps/shop/uploads', picture),
    ];
    expect(answers.map(outcomeOf)).toEqual(['200', '200', '400 limit_exceeded']);
    await life().untilEnded(sent);
    expect(await life().stored()).not.toContain(sent.id);
  });

  test('concurrent checks of an upload count once', async () => {
    const team = await api().createTeam();
    await team.setPlan({ uploadBytesMax: 300 });
    const files: File[] = [];
    // Enough files that the work takes several steps.
    for (let count = 0; count < 30; count += 1) files.push(await upload(team.client, '0123456789'));
    const full = await postUpload(team.client);
    await sendBytes(full, '0');
    expect(outcomeOf(await complete(team.client, full))).toBe('402 payment_required');
    const maintenanceOfAll = [life().newMaintenance(), life().newMaintenance(), life().newMaintenance()];
    await sleepUntil(async () => {
      await Promise.all(maintenanceOfAll.map((maintenance) => life().keepUp(maintenance)));
      return (await life().rowOf(files.at(-1)!)).cleared;
    }, 'all files have ended');
    for (const file of files) expect((await life().rowOf(file)).removed).not.toBeNull();
    const { rows } = await operator().database.pool.query(
      'select upload_bytes::float8 as bytes from teams where id = $1',
      [team.id],
    );
    expect(rows).toEqual([{ bytes: 0 }]);
  });

  test('a check that comes too early, or for another team, changes nothing', async () => {
    const { log } = operator();
    const team = await api().createTeam();
    const [open, closed] = [await life().createLasting(team), await life().createLasting(team)];
    expect([await sendBytes(open, 'bytes'), await sendBytes(closed, 'bytes')]).toEqual(['200', '200']);
    const file = { ...closed, url: (await complete(team.client, closed)).json.data.url };
    const before = [await life().rowOf(open), await life().rowOf(file)];
    const early = life().newMaintenance({ settleDelay: -2 * hour });
    // Maintenance does not append such events without end.
    await sleepUntil(async () => !(await early.endDue()), 'nothing more is due');
    const stranger = await api().createTeam();
    for (const { id } of [open, file]) await recordFact(log, checkUpload(stranger.id, id));
    expect([await life().rowOf(open), await life().rowOf(file)]).toEqual(before);
    expect(outcomeOf(await complete(team.client, open))).toBe('200');
    expect(await statusOf(file)).toBe(200);
  });

  test('removing bytes is safe to repeat', async () => {
    const [file, kept] = [await upload(client(), 'bytes'), await upload(client(), 'kept')];
    await createTable(client(), [{ n: kept.url }], { n: 'string' });
    await life().untilEnded(file);
    const { pool } = operator().database;
    await pool.query('update uploads set cleared = false where removed_at is not null');
    const maintenanceOfAll = [life().newMaintenance(), life().newMaintenance()];
    await Promise.all(
      maintenanceOfAll.map(async (maintenance) => {
        while (await maintenance.clear());
      }),
    );
    expect((await life().rowOf(file)).cleared).toBe(true);
    expect(await statusOf(file)).toBe(404);
    expect(await statusOf(kept)).toBe(200);
  });

  describe('bytes that belong to no upload', () => {
    /** Leaves bytes for an unknown upload, and a sealed file of it. */
    async function leaveOrphans(store: FileStore): Promise<readonly string[]> {
      const unknown = randomUUID();
      await leave(store, unknown, Buffer.from('bytes'));
      const name = newFileName();
      expect(await store.seal({ uploadId: unknown, contentType: 'image/png', sizeMax: 10 }, name)).toEqual({ size: 5 });
      return [unknown, name];
    }

    test('are removed when they are old, and nothing else is', async () => {
      const file = await upload(client(), 'bytes');
      await createTable(client(), [{ n: file.url }], { n: 'string' });
      // The received bytes of a completed upload belong to no upload.
      const orphans = [...(await leaveOrphans(life().store)), file.id];
      const left = async (): Promise<readonly string[]> => {
        const held = await life().stored();
        return orphans.filter((name) => held.has(name));
      };
      await life().removeOrphans({});
      expect(await left()).toEqual(orphans);
      const { log } = operator();
      const behind: Pick<EventLog, 'bounds'> = {
        bounds: async (partition) => {
          const bounds = await log.bounds(partition);
          return { ...bounds, end: bounds.end + 1n };
        },
      };
      // The read model is behind the log, which may have more uploads.
      await life().removeOrphans({ orphanAge: -60_000, log: behind as EventLog });
      expect(await left()).toEqual(orphans);
      const open = await postUpload(client());
      await sendBytes(open, 'on their way');
      await life().removeOrphans({ orphanAge: -60_000 });
      expect(await left()).toEqual([]);
      expect(await statusOf(file)).toBe(200);
      expect(outcomeOf(await complete(client(), open))).toBe('200');
      expect(new URL((await complete(client(), file)).json.data.url).pathname).toBe(new URL(file.url).pathname);
    });

    test('stay in a store of another log, and each pass logs one warning', async () => {
      const other = await openOther();
      const lines: string[] = [];
      const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
      const removeOrphans = (): Promise<void> => life().removeOrphans({ orphanAge: -60_000, files: other, logger });
      const listed = async (): Promise<number> => (await Array.fromAsync(other.list(Number.MAX_SAFE_INTEGER))).length;
      try {
        expect(await other.belongsTo(randomUUID())).toBe(true);
        await leaveOrphans(other);
        await leaveOrphans(other);
        await removeOrphans();
        expect(lines).toEqual([expect.stringContaining('the store of files belongs to another log')]);
        await removeOrphans();
        expect(lines).toHaveLength(2);
        expect(await listed()).toBe(4);
      } finally {
        await other.close();
      }
    });

    test('are removed from a store without an owner, which then belongs to this log', async () => {
      const other = await openOther();
      try {
        await leaveOrphans(other);
        await life().removeOrphans({ orphanAge: -60_000, files: other });
        expect(await Array.fromAsync(other.list(Number.MAX_SAFE_INTEGER))).toEqual([]);
        expect(await other.belongsTo(randomUUID())).toBe(false);
      } finally {
        await other.close();
      }
    });
  });
}
