/** A team in a chosen partition, a bug that affects only its events, and the effects that clients and operators see. */
import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import pg from 'pg';
import { createTeam, createToken } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/hash-token.ts';
import { readModelSchema } from '../../projections/models.ts';
import { encodeEvent } from '../../src/language/events/event-codec.ts';
import type { EventData } from '../../src/language/events/event.ts';
import { newAccessToken } from '../../src/storage/security/access-token.ts';
import { partitionCount, partitionOf } from '../../src/log/partition.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';

/** A fact, as a record of the log. */
export function recordOf(data: EventData): Uint8Array {
  return encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data).bytes;
}

interface FutureTeam {
  readonly id: string;
  readonly token: string;
  readonly partition: number;
  /** The records that create the team and its token. */
  readonly records: readonly Uint8Array[];
}

/** A team of this partition, or of any. */
export function teamIn(partition: number | null = null): FutureTeam {
  let id = randomUUID();
  while (partition !== null && partitionOf(id, partitionCount) !== partition) id = randomUUID();
  const token = newAccessToken();
  return {
    id,
    token,
    partition: partitionOf(id, partitionCount),
    records: [createTeam(id, 'team'), createToken(id, randomUUID(), 'token', hashToken(token))].map(recordOf),
  };
}

/**
 * Plants a bug that appears when something of this team is stored in a table of the read model. Resolves to a function
 * that repairs it.
 */
export async function plantTableFault(url: string, table: string, teamId: string): Promise<() => Promise<void>> {
  const run = async (...statements: readonly string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: url, options: `-c search_path=${readModelSchema}` });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await run(
    `create or replace function planted() returns trigger language plpgsql as $$ begin raise exception 'a planted fault'; end $$`,
    `create trigger planted before insert or update on ${table} for each row when (new.team_id = '${teamId}') execute function planted()`,
  );
  return () => run(`drop trigger planted on ${table}`);
}

/** A team that has a table with one row. */
export class Tenant {
  readonly clients: readonly Client[];
  #table = '';
  #row = '';

  constructor(urls: readonly string[], token: string) {
    this.clients = urls.map((url) => new Client(url, token));
  }

  get client(): Client {
    return this.clients[0]!;
  }

  get rows(): string {
    return `${this.#table}/rows`;
  }

  async makeTable(): Promise<void> {
    await sleepUntil(async () => (await this.client.get('/tables')).status === 200, 'the token is known');
    const { json } = await this.client.post('/tables', { name: 'table', rows: [{ value: 'first' }] });
    this.#table = `/tables/${json.data.tableID}`;
    this.#row = `${this.rows}/${json.data.rowIDs[0]}`;
  }

  patch(value: string): ReturnType<Client['send']> {
    return this.client.send(this.#row, { method: 'PATCH', body: { value } });
  }

  async value(): Promise<unknown> {
    return (await this.client.get(this.#row)).json.data?.value;
  }

  async outcomes(): Promise<string[]> {
    return Promise.all(this.clients.map(async (client) => outcomeOf(await client.get('/tables'))));
  }

  async jobState(jobId: string): Promise<unknown> {
    return (await this.client.get(`/jobs/${jobId}`)).json.data?.status;
  }

  /** Waits until every process refuses its requests with the reason. */
  async untilRefused(): Promise<void> {
    await sleepUntil(
      async () => (await this.outcomes()).every((outcome) => outcome === '503 service_unavailable'),
      'all processes refuse its requests',
    );
    const { json, headers } = await this.client.get('/tables');
    expect(json.error.message).toMatch(
      /^The service could not process an event of the team\. Since \d{4}-\d\d-\d\dT.* This try changed nothing\.$/,
    );
    expect(headers.get('retry-after')).toBe('60');
    const { log } = (await this.client.get('/activity')).json.data;
    expect(json.error.message).toContain(`Since ${log.quarantinedSince} `);
    expect((await this.client.get('/jobs')).status).toBe(200);
  }
}
