/** Copies of logs, from and to whatever holds them. */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { setPlan } from '../../../commands/plans.ts';
import { openCopyTarget } from '../../../src/app/open-log.ts';
import { readConfig } from '../../../src/app/config.ts';
import { encodeEvent } from '../../../src/language/events/event-codec.ts';
import { copyPartition, proveCopied, type CopyPlace } from '../../../src/log/copy-log.ts';
import type { CopyTarget, LogReader, LogRecord, RecordLog } from '../../../src/log/event-log.ts';
import { hashOf, WrongLog } from '../../../src/log/identity.ts';
import { createLog, deploymentKind } from '../../support/deployment-kind.ts';
import { createDatabase } from '../../support/postgres.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

type Kind = 'postgres' | 'kafka';

async function openNew(kind: Kind): Promise<RecordLog> {
  const [database, { environment, drop }] = await Promise.all([createDatabase(), createLog(kind)]);
  closers.push(() => database.drop(), drop);
  const log = await openCopyTarget(
    readConfig({ ...environment, DATABASE_URL: database.url }),
    database.url,
    pino({ level: 'silent' }),
  );
  closers.push(() => log.close());
  return log;
}

/** Records whose times repeat, and lie in the past. One is of the first format, one is none that could be read. */
function makeRecords(count: number, partition = 3): LogRecord[] {
  return Array.from({ length: count }, (_, at) => {
    const { bytes } = encodeEvent(
      { commandId: randomUUID(), notAfter: null, requestDigest: null },
      setPlan(randomUUID(), { rowsMax: at }),
    );
    const odd = at === 5 ? Buffer.from([1, 0, 0, 0, 0, 0, 0, 2, 123, 125]) : Buffer.alloc(0);
    return {
      partition,
      offset: BigInt(at),
      time: 1_700_000_000_000 + Math.floor(at / 3) * 7,
      bytes: at === 5 || at === 8 ? odd : bytes,
    };
  });
}

async function readAll(
  log: LogReader,
  partition = 3,
): Promise<{ readonly offset: bigint; readonly time: number; readonly hash: string }[]> {
  const { start, end } = await log.bounds(partition);
  const found = [];
  for await (const records of log.read(partition, start, end)) {
    found.push(
      ...records.map((record) => ({ offset: record.offset, time: record.time, hash: hashOf(record).toString('hex') })),
    );
  }
  return found;
}

async function copy(source: LogReader, target: CopyTarget, to: bigint): Promise<CopyPlace> {
  const from = await proveCopied(source, target, 3, to);
  return copyPartition({ source, target, partition: 3, from, to });
}

const ways: [Kind, Kind][] =
  deploymentKind === 'postgres'
    ? [['postgres', 'postgres']]
    : [
        ['postgres', 'kafka'],
        ['kafka', 'kafka'],
        ['kafka', 'postgres'],
      ];

test.each(ways)(
  'a log in %s, copied to %s in two steps, has the same records at the same offsets with the same times',
  async (from, to) => {
    const [source, target] = await Promise.all([openNew(from), openNew(to)]);
    const records = makeRecords(15_000);
    await source.appendCopies(3, records.slice(0, 9000));
    await source.appendCopies(3, records.slice(9000));
    const wanted = records.map((record) => ({
      offset: record.offset,
      time: record.time,
      hash: hashOf(record).toString('hex'),
    }));
    expect(await readAll(source)).toEqual(wanted);
    expect(await copy(source, target, 7n)).toEqual({ offset: 7n, time: records[6]!.time });
    expect(await copy(source, target, 15_000n)).toEqual({ offset: 15_000n, time: records.at(-1)!.time });
    expect(await readAll(target)).toEqual(wanted);
    // What comes after it is not before it.
    await target.appendRecord(3, records[0]!.bytes);
    expect((await readAll(target)).at(-1)!.time).toBeGreaterThan(records.at(-1)!.time);
  },
);

const kinds: Kind[] = deploymentKind === 'postgres' ? ['postgres'] : ['kafka'];

test.each(kinds)('in %s nothing is copied behind what is no copy, or to another offset', async (kind) => {
  const [source, target] = await Promise.all([openNew('postgres'), openNew(kind)]);
  const records = makeRecords(20);
  await source.appendCopies(3, records);
  await target.appendCopies(3, records.slice(0, 4));
  await expect(target.appendCopies(3, records.slice(5))).rejects.toThrow(WrongLog);
  await expect(target.appendCopies(3, records.slice(3))).rejects.toThrow(WrongLog);
  await expect(proveCopied(source, target, 3, 2n)).rejects.toThrow(WrongLog);
  await target.appendCopies(3, [{ ...records[4]!, time: records[4]!.time + 1 }]);
  await expect(proveCopied(source, target, 3, 20n)).rejects.toThrow('the record at 4 differs');
  expect((await target.bounds(3)).end).toBe(5n);
});

test.each(kinds)('a copy to %s that is interrupted keeps what was copied, and goes on', async (kind) => {
  const [source, target] = await Promise.all([openNew('postgres'), openNew(kind)]);
  const records = makeRecords(25_000);
  for (let at = 0; at < records.length; at += 5000) await source.appendCopies(3, records.slice(at, at + 5000));
  const interruption = new AbortController();
  const interrupted = copyPartition({
    source,
    target,
    partition: 3,
    from: { offset: 0n, time: 0 },
    to: 25_000n,
    signal: interruption.signal,
    onCopied: () => interruption.abort(new Error('interrupted')),
  });
  await expect(interrupted).rejects.toThrow('interrupted');
  const { end } = await target.bounds(3);
  expect(end).toBeGreaterThan(0n);
  expect(end).toBeLessThan(25_000n);
  expect(await copy(source, target, 25_000n)).toEqual({ offset: 25_000n, time: records.at(-1)!.time });
  expect(await readAll(target)).toEqual(await readAll(source));
});
