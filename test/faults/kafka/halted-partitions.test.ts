/** A partition that cannot be projected any further halts and reports it. The others, and all reads, go on. */
import { describe, expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import pg from 'pg';
import { readModelSchema } from '../../../projections/models.ts';
import { partitionCount, partitionOf } from '../../../src/log/partition.ts';
import { Client, outcomeOf } from '../../support/client.ts';
import { appendRecords } from '../../support/kafka/append-records.ts';
import { makeTopicAnew } from '../../support/kafka/make-topic-anew.ts';
import { sleepUntil } from '../../support/server.ts';
import { outputOf, runTablog } from '../../support/tablog.ts';
import { useDeployment } from './use-deployment.ts';

const deployment = useDeployment({
  roles: ['api', 'api', 'projector'],
  environment: { MAINTENANCE_INTERVAL_MS: '500' },
});

interface Team {
  readonly id: string;
  readonly client: Client;
  readonly partition: number;
  /** The path of a row. */
  readonly row: string;
}

/** The output of a command. */
function tablog(...args: readonly string[]): Promise<string> {
  return outputOf(args, deployment().environment);
}

/** A team with a row in a table, in a partition other than these. */
async function createTeam(others: readonly number[] = []): Promise<Team> {
  for (;;) {
    const teamId = await tablog('teams', 'create', 'test', '--another');
    const partition = partitionOf(teamId, partitionCount);
    if (others.includes(partition)) continue;
    const client = new Client(
      deployment().of('api')[0]!.server.url,
      await tablog('tokens', 'create', '--team', teamId),
    );
    await sleepUntil(async () => (await client.get('/tables')).status === 200, 'the token is known');
    const { json } = await client.post('/tables', { name: 'table', rows: [{ value: 'first' }] });
    return { id: teamId, client, partition, row: `/tables/${json.data.tableID}/rows/${json.data.rowIDs[0]}` };
  }
}

async function patch({ client, row }: Team, value: string): Promise<string> {
  return outcomeOf(await client.send(row, { method: 'PATCH', body: { value } }));
}

async function readiness(): Promise<{ status: string; problems?: string[] }> {
  const response = await fetch(`${deployment().of('api')[0]!.server.url}/readyz`);
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: { status: string } }).data;
}

function admin(): kafkajs.Kafka {
  return new kafkajs.Kafka({ brokers: [deployment().broker.address], logLevel: kafkajs.logLevel.NOTHING });
}

/** Appends a record that is not an event, and waits until the halt is known. */
async function halt(partition: number): Promise<void> {
  await appendRecords(deployment().broker.address, 'tablog.events', [{ partition, value: 'no event' }]);
  await sleepUntil(async () => (await readiness()).status === 'degraded', 'the halt is known');
}

test('an event that no process can project halts its partition, and is never skipped', async () => {
  const unlucky = await createTeam();
  const lucky = await createTeam([unlucky.partition]);
  expect(await readiness()).toEqual({ status: 'ok' });

  await halt(unlucky.partition);
  // Anybody may read this. The reason is for operators: in the log, and on the command line.
  expect((await readiness()).problems).toEqual([`Partition ${unlucky.partition} has halted.`]);
  expect(deployment().of('projector')[0]!.server.output()).toMatch(/"level":60.*a record of an unknown format/);
  const status = await runTablog(['log', 'status'], deployment().environment);
  expect(status).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      new RegExp(
        `^Partition ${unlucky.partition} takes no writes: has halted at offset \\d+: a record of an unknown format\\.$`,
        'm',
      ),
    ),
  });

  expect(await patch(unlucky, 'second')).toBe('503 service_unavailable');
  expect((await unlucky.client.get(unlucky.row)).json.data).toMatchObject({ value: 'first' });
  expect(await patch(lucky, 'second')).toBe('200');

  // A process that takes the partition over does not skip the event, and reads go on after a restart of everything.
  await deployment().kill(deployment().places);
  await deployment().restart(deployment().places);
  await deployment().untilReady();
  await sleepUntil(async () => (await readiness()).problems?.length === 1, 'the halt is known again');
  expect(await patch(unlucky, 'third')).toBe('503 service_unavailable');
  expect((await unlucky.client.get(unlucky.row)).json.data).toMatchObject({ value: 'first' });
  expect(await patch(lucky, 'third')).toBe('200');
});

describe('the topic is recreated while the service runs', () => {
  async function makeLogAnew(): Promise<void> {
    const client = admin().admin();
    await client.connect();
    const { topics } = await client.fetchTopicMetadata({ topics: ['tablog.events'] });
    expect(topics[0]!.partitions).toHaveLength(partitionCount);
    await makeTopicAnew(client, {
      topic: 'tablog.events',
      numPartitions: partitionCount,
      settings: { 'retention.ms': '-1', 'message.timestamp.type': 'LogAppendTime' },
    });
    await client.disconnect();
  }

  /** The IDs of the log in all partitions, as the read model knows them. */
  async function readLogIds(): Promise<(string | null)[]> {
    const client = new pg.Client({ connectionString: deployment().environment['DATABASE_URL'] });
    await client.connect();
    try {
      const { rows } = await client.query<{ id: string | null }>(
        `select distinct log_id as id from ${readModelSchema}.progress`,
      );
      return rows.map(({ id }) => id);
    } finally {
      await client.end();
    }
  }

  test('every partition halts with a message that says what to do, and no more writes are acknowledged', async () => {
    const team = await createTeam();
    await makeLogAnew();
    await sleepUntil(async () => (await patch(team, 'second')).startsWith('503'), 'writes are refused');
    await sleepUntil(
      async () => (await readiness()).problems?.includes(`Partition ${team.partition} has halted.`) === true,
      'the service says so',
    );
    await sleepUntil(async () => {
      const { stdout } = await runTablog(['log', 'status'], deployment().environment);
      return stdout
        .split('\n')
        .some((line) => /recreated|the log is empty/.test(line) && line.includes('tablog replay'));
    }, 'operators are told why');
    expect(await patch(team, 'third')).toBe('503 service_unavailable');
    expect((await team.client.get(team.row)).json.data).toMatchObject({ value: 'first' });

    // The same happens if the service is started on another log.
    await deployment().kill(deployment().places);
    await deployment().restart(deployment().places);
    await deployment().untilReady();
    expect(await patch(team, 'fourth')).toBe('503 service_unavailable');
    expect((await team.client.get(team.row)).json.data).toMatchObject({ value: 'first' });

    // The whole log is given up. The empty log, to which no process wrote before the loss was noticed, gets an ID,
    // which identifies it from then on.
    await deployment().kill(deployment().places);
    await makeLogAnew();
    expect(await runTablog(['replay'], deployment().environment)).toMatchObject({ code: 0 });
    expect(await readLogIds()).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    await deployment().restart(deployment().places);
    await deployment().untilReady();
    const another = await createTeam();
    expect(await patch(another, 'second')).toBe('200');
    expect(await runTablog(['log', 'status'], deployment().environment)).toMatchObject({ code: 0 });
    expect(await deployment().verify()).toMatchObject({ exitCode: 0 });
  });
});

test('an API reports that no process projects its events', async () => {
  const team = await createTeam();
  await deployment().kill(deployment().of('projector'));
  expect(await patch(team, 'second')).toBe('503 outcome_unknown');
  await sleepUntil(async () => {
    const { problems = [] } = await readiness();
    return problems.some((problem) => problem.startsWith(`Nobody projects partition ${team.partition}`));
  }, 'the service says so');
  await deployment().restart(deployment().of('projector'));
  await sleepUntil(async () => (await readiness()).status === 'ok', 'all is well again');
  expect(await patch(team, 'third')).toBe('200');
});

describe('a token is revoked', () => {
  interface Revoked {
    readonly id: string;
    readonly team: Team;
    readonly clients: readonly Client[];
  }

  /** Two tokens of the same team that both processes know: one to revoke, and another one. */
  async function createTokens(): Promise<{ revoked: Revoked; other: Client }> {
    const team = await createTeam();
    const { id, token } = JSON.parse(await tablog('tokens', 'create', '--team', team.id, '--json'));
    const clients = deployment()
      .of('api')
      .map(({ server }) => new Client(server.url, token));
    for (const client of clients)
      await sleepUntil(async () => (await client.get('/tables')).status === 200, 'the token is known');
    return { revoked: { id, team, clients }, other: team.client };
  }

  async function isRefused({ clients }: Revoked): Promise<boolean> {
    const outcomes = await Promise.all(clients.map(async (client) => outcomeOf(await client.get('/tables'))));
    return outcomes.every((outcome) => outcome === '404 request_error');
  }

  /** Revokes the token while the log takes no events. The revocation must still take effect. */
  async function revoke(revoked: Revoked): Promise<string> {
    const { code, stderr } = await runTablog(
      ['tokens', 'revoke', revoked.id, '--team', revoked.team.id],
      deployment().environment,
    );
    await sleepUntil(() => isRefused(revoked), 'all processes refuse it');
    expect(code).toBe(0);
    expect(stderr).toMatch(/The token "made [^"]+" is revoked\. Running services refuse it within two seconds\./);
    expect(stderr).toMatch(
      /The revocation could not be appended to the log \(.+\)\. The service appends it as soon as it can\./,
    );
    return stderr;
  }

  test('while its partition is halted: it is refused, also after a restart of everything', async () => {
    const { revoked, other } = await createTokens();
    await halt(revoked.team.partition);
    expect(await revoke(revoked)).toContain(`partition ${revoked.team.partition} has halted at offset`);
    const [first, second] = JSON.parse(await tablog('tokens', 'list', '--team', revoked.team.id, '--json'));
    expect([first.revoked, second]).toEqual([false, expect.objectContaining({ id: revoked.id, revoked: true })]);

    await deployment().kill(deployment().places);
    await deployment().restart(deployment().places);
    await deployment().untilReady();
    expect(await isRefused(revoked)).toBe(true);
    expect((await other.get('/tables')).status).toBe(200);
  });

  test('while Kafka is away: it is refused, and the log gets the revocation once Kafka is back', async () => {
    const { revoked, other } = await createTokens();
    await deployment().broker.kill();
    await revoke(revoked);
    expect((await other.get('/tables')).status).toBe(200);
    await deployment().broker.start();
    await sleepUntil(async () => (await readiness()).status === 'ok', 'all is well again');
    // The read model shows only revocations that are in the log.
    await sleepUntil(() => isRevokedInReadModel(revoked.id), 'the log has been told');
    expect(await isRefused(revoked)).toBe(true);
    expect((await deployment().verify()).exitCode).toBe(0);
  });
});

async function isRevokedInReadModel(tokenId: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: deployment().environment['DATABASE_URL'] });
  await client.connect();
  const { rows } = await client.query(`select revoked from ${readModelSchema}.tokens where id = $1`, [tokenId]);
  await client.end();
  return rows[0].revoked;
}
