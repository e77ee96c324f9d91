/**
 * Valid and hostile requests of several teams, on several connections at once. Every answer is one that the OpenAPI
 * document describes, nothing of a team reaches another, and the service goes on as if nothing had been.
 */
import { beforeAll, expect, test } from '@jest/globals';
import { isFull, scale } from '../scale.ts';
import { useOwnApi, type Team } from '../support/api.ts';
import { documentOf } from '../support/interface-document.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { verify } from '../faults/verify.ts';
import { chooseSeed } from '../support/random.ts';
import { limitMs } from '../support/time-limits.ts';
import { AnswerChecker } from './check.ts';
import { Fuzz } from './fuzz.ts';
import { plantedAnswers } from './planted.ts';
import type { FuzzRequest } from './requests.ts';
import { makeTeam } from './scenery.ts';
import type { FuzzTeam } from './things.ts';

// A slow machine is no overload: a request waits for its outcome as long as it takes.
const { api } = useOwnApi({
  ASYNC_WAIT_MS: '0',
  OUTCOME_WAIT_MS: '100000',
  REQUEST_IDLE_TIMEOUT_MS: '3000',
  MAINTENANCE_INTERVAL_MS: '1000',
});

const seed = chooseSeed();
const connections = Number(process.env['CONNECTIONS'] ?? 9);
/**
 * At the end of each, memory is measured, and all wait for the client whose unfinished request is given up after 20
 * seconds.
 */
const rounds = isFull ? 4 : 1;
const memoryMax = 512 * 2 ** 20;

let victim: Team;
let [hidden, ...teams]: FuzzTeam[] = [];

beforeAll(async () => {
  victim = await api().createTeam();
  const operator = await api().createOperatorToken();
  hidden = await makeTeam(victim, 'Secret-of-victim', operator);
  const senders = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => ({ name, team: await api().createTeam() })),
  );
  teams = await Promise.all(senders.map(({ name, team }) => makeTeam(team, `Secret-of-${name}`, operator)));
  await senders[0]!.team.setPlan({ rowsMax: 2000, uploadBytesMax: 20_000 });
});

async function residentBytes(): Promise<number> {
  const text = await (await fetch(`${api().url}/metrics`)).text();
  return sumOf(parseMetrics(text), 'process_resident_memory_bytes')!;
}

const stateOfVictim = () => Promise.all(hidden!.things.tables.map(({ id }) => victim.client.rows(id)));

test('the checks find planted faults', async () => {
  const checker = new AnswerChecker(await documentOf(api().url), [...teams, hidden!]);
  const request: FuzzRequest = {
    method: 'GET',
    target: '/tables',
    headers: [],
    body: null,
    operationId: 'listTables',
    rights: 'all',
  };
  for (const { answer, problem } of plantedAnswers(hidden!)) {
    expect(checker.problemOf(teams[0]!, request, answer, true)).toEqual(
      problem === null ? null : expect.stringContaining(problem),
    );
  }
  const { answer } = plantedAnswers(hidden!)[0]!;
  expect(checker.problemOf(teams[0]!, { ...request, rights: 'none' }, answer, true)).toBe(
    'a success without a valid token',
  );
  expect(checker.problemOf(teams[0]!, { ...request, rights: 'operator' }, answer, true)).toBe(
    'a success with the token of an operator',
  );
});

test(
  'every answer is one that the document describes, and of the team that asks',
  async () => {
    process.stderr.write(`CONNECTIONS=${connections}\n`);
    const document = await documentOf(api().url);
    const urls = api()
      .processes.filter(({ role }) => role !== 'projector')
      .map(({ url }) => url);
    const fuzz = new Fuzz({ urls, document, teams, victim: hidden!, connections, seed });
    const before = await stateOfVictim();
    const memory = [await residentBytes()];
    const began = performance.now();
    for (let round = 0; round < rounds; round += 1) {
      await fuzz.run(scale.fuzzRequests / rounds);
      memory.push(await residentBytes());
    }
    const seconds = (performance.now() - began) / 1000;
    process.stderr.write(
      `${fuzz.sent} requests, ${Math.round(fuzz.sent / seconds)} per second; resident MiB: ${memory.map((bytes) => Math.round(bytes / 2 ** 20)).join(', ')}\n`,
    );
    if (process.env['FUZZ_TALLY'] !== undefined)
      process.stderr.write(
        `${[...fuzz.tally]
          .toSorted()
          .map(([key, count]) => `${String(count).padStart(7)} ${key}`)
          .join('\n')}\n`,
      );

    const operationIds = Object.values(document.document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    const missing = await fuzz.askForMissing(operationIds);
    fuzz.close();
    expect([...fuzz.findings.values()].join('\n\n')).toBe('');
    expect(missing).toEqual([]);
    expect(Math.max(...memory)).toBeLessThan(memoryMax);
    expect(await stateOfVictim()).toEqual(before);
    expect(await verify(api().operatorEnvironment)).toMatchObject({ exitCode: 0 });
    expect(await api().outputs()).toEqual(api().processes.map(() => expect.not.stringContaining('"level":50')));
  },
  limitMs(3_600_000),
);
