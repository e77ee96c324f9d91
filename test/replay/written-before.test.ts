/**
 * Every fixture of an earlier version (test/fixtures/) reads as it did then, both opened as it is and rebuilt from its
 * log.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EventType } from '../../src/language/events/event.ts';
import { opensEmbedded, readDump, restore, versions, type Kind, type Restored } from '../fixtures/fixture.ts';
import { createLog, deploymentKind } from '../support/deployment-kind.ts';
import { createDatabase } from '../support/postgres.ts';
import { runTablog } from '../support/tablog.ts';

const kind: Kind = deploymentKind === 'postgres' ? 'postgres' : 'kafka';

/**
 * The events that each version's fixtures contain: every kind that the version had. Of requests, some are applied and
 * some refused.
 */
const facts = {
  'v0.1': [
    'GenerationStarted',
    'TeamCreated',
    'TeamSuspended',
    'TeamResumed',
    'TeamPlanSet',
    'TokenCreated',
    'TokenRevoked',
    'BlockReceived',
    'StashDeleteRequested',
    'StashExpired',
    'UploadChecked',
  ],
} as const satisfies Readonly<Record<string, readonly EventType[]>>;
const requests = {
  'v0.1': [
    'ChunkPutRequested',
    'UploadCreateRequested',
    'UploadCompleteRequested',
    'TableCreateRequested',
    'TablePatchRequested',
    'TableDeleteRequested',
    'RowsAddRequested',
    'TableOverwriteRequested',
    'RowPatchRequested',
    'RowDeleteRequested',
  ],
} as const satisfies Readonly<Record<keyof typeof facts, readonly EventType[]>>;
type Version = keyof typeof facts;

test('there is a list of what each version wrote', async () => {
  expect(await versions()).toEqual(Object.keys(facts));
});

const canRun = kind === 'kafka' || opensEmbedded;
if (!canRun) {
  process.stderr.write(
    'What other versions wrote into their embedded Postgres is not opened here: its files are those of Linux on x64.\n',
  );
}

describe.each(canRun ? (Object.keys(facts) as Version[]) : [])(`a log in ${kind} of %s`, (version) => {
  let restored: Restored;
  let dump: string;
  const drops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    dump = await readDump(version, kind);
    if (kind === 'postgres') {
      restored = await restore(version, kind);
    } else {
      const [database, log] = [await createDatabase(), await createLog()];
      drops.push(
        () => database.drop(),
        () => log.drop(),
      );
      restored = await restore(version, kind, { ...log.environment, DATABASE_URL: database.url });
    }
  });

  afterAll(async () => {
    await restored?.remove();
    for (const drop of drops) await drop();
  });

  test('reads as it did when it is upgraded beside a process that serves', async () => {
    expect(differencesOf(dump, await restored.dump({ besideEarlier: true }))).toEqual([]);
  });

  test('reads as it did when it is built anew', async () => {
    expect(await runTablog(['replay', '--batch-events', '25'], restored.environment)).toMatchObject({ code: 0 });
    expect(differencesOf(dump, await restored.dump())).toEqual([]);
  });

  test('holds every kind of event', () => {
    const outcomes = Array.from(
      dump.matchAll(/^\d+\/\d+ (\w+) \S+: (?:null|\{"status":"(\w+)")/gm),
      ([, type, status]) => ({ type, status }),
    );
    const typesOf = (status: string) =>
      [...new Set(outcomes.filter((one) => one.status === status).map(({ type }) => type))].toSorted();
    expect(typesOf('applied')).toEqual([...facts[version], ...requests[version]].toSorted());
    expect(typesOf('refused')).toEqual([...requests[version]].toSorted());
  });
});

/** Messages for people that are worded anew since: the API makes them when it answers, so no outcome records them. */
const reworded = [
  [
    'The request did not reach the log in time: nothing was changed.',
    'The request did not reach the log in time. It changed nothing.',
  ],
  [
    'Idempotency-Key: it was used for another request.',
    'Idempotency-Key: this key was used for another request. Use a new key.',
  ],
] as const;

/** The first lines that differ. */
function differencesOf(
  expected: string,
  found: string,
): { readonly line: number; readonly was: string | undefined; readonly is: string | undefined }[] {
  const present = reworded.reduce((text, [was, is]) => text.replaceAll(was, is), expected);
  const [before, now] = [present.split('\n'), found.split('\n')];
  const differences = [];
  for (let at = 0; at < Math.max(before.length, now.length) && differences.length < 10; at += 1) {
    if (before[at] !== now[at]) differences.push({ line: at + 1, was: before[at], is: now[at] });
  }
  return differences;
}
