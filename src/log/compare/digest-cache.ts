/**
 * Digests of parts of a read model, stored in its schema. They are not part of the read model: if they are lost,
 * nothing is lost.
 */
import pg from 'pg';
import { postgresTypes } from '../../storage/database/pipelined-client.ts';

/** A digest, and the state for which it is valid: while the fingerprint stays the same, so does the digest. */
export interface KeptDigest {
  /** A UUID: the ID of the unit. */
  readonly unit: string;
  /** The part of the unit; empty: the whole unit. */
  readonly part: string;
  readonly fingerprint: string;
  /** SHA-256 in hexadecimal digits, or sums of such hashes (row-hashes.ts). */
  readonly digest: string;
}

const createDigests = `create table if not exists digests (
  unit uuid not null, part text not null, fingerprint text not null, digest text not null, primary key (unit, part))`;

/** SQL: joins the digest of a part, under the alias `kept`, if it is still valid. */
export function joinDigest(unit: string, part: string, fingerprint: string): string {
  return `left join digests kept on kept.unit = ${unit} and kept.part = ${part} and kept.fingerprint = ${fingerprint}`;
}

export class DigestCache {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Connects, and creates the table if it does not exist. Snapshots that are opened later can read it. */
  static async open(url: string, schema: string): Promise<DigestCache> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'tablog digest',
      options: `-c search_path=${schema} -c synchronous_commit=off`,
      types: postgresTypes,
      connectionTimeoutMillis: 5000,
    });
    // A broken connection fails the query that runs on it, or the next one.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query(createDigests);
      return new DigestCache(client);
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  async keep(digests: readonly KeptDigest[]): Promise<void> {
    if (digests.length === 0) return;
    await this.#client.query(
      `insert into digests (unit, part, fingerprint, digest) select *
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
        on conflict (unit, part) do update set fingerprint = excluded.fingerprint, digest = excluded.digest`,
      [
        digests.map(({ unit }) => unit),
        digests.map(({ part }) => part),
        digests.map(({ fingerprint }) => fingerprint),
        digests.map(({ digest }) => digest),
      ],
    );
  }

  /** Removes the digests of all units that none of these queries lists in its column `unit`. */
  async removeOtherUnits(units: readonly string[]): Promise<void> {
    const listed = units.map((query) => `select unit from (${query}) units`).join(' union all ');
    await this.#client.query(
      `delete from digests where not exists (select from (${listed}) listed where listed.unit = digests.unit)`,
    );
  }

  /** Removes the digests of all parts of these units that are not in the list of pairs. */
  async removeOtherParts(units: readonly string[], parts: readonly string[]): Promise<void> {
    await this.#client.query(
      `delete from digests where unit = any($1::uuid[]) and not exists (
        select from unnest($1::uuid[], $2::text[]) listed(unit, part) where listed.unit = digests.unit
        and listed.part = digests.part)`,
      [units, parts],
    );
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
