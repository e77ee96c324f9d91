/** The tables in a set: the tables of the read model, as their entities declare them, and the tables of notes. */
import type { EntitySchema } from '@mikro-orm/core';
import type pg from 'pg';
import { shapeOf } from '../../storage/database/stored-table.ts';
import { languageNotes } from '../../log/language-agreement.ts';
import { jobNotes } from '../../api/jobs/job-notes.ts';
import { operatorTokens, revocationNotes, useNotes } from '../../storage/security/token-notes.ts';
import { logBytesNotes } from '../../api/usage/log-bytes-notes.ts';

/** A table with its columns, and its primary key. */
export interface CopiedTable {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /**
   * Whether the first column of the key is a counter. If so, the table is cut by ranges of it, because older ranges
   * seldom change.
   */
  readonly isCut: boolean;
}

export function qualifiedName({ schema, name }: Pick<CopiedTable, 'schema' | 'name'>): string {
  return `${schema}."${name}"`;
}

export function columnList(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}

/** The tables of the read model in this schema, in the order of their names. */
export function readModelTables(entities: readonly EntitySchema[], schema: string): CopiedTable[] {
  const tables = entities.map((entity): CopiedTable => {
    const { isNumbered, ...shape } = shapeOf(entity);
    return { ...shape, schema, isCut: isNumbered };
  });
  return tables.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The names of the tables of notes that a set may have, as `schema.table`. */
export function namesOfNotes(): readonly string[] {
  return notes;
}

/**
 * The tables of notes in a set. Notes of query engines are left out, because the processes write them anew; the signing
 * keys have an object of their own (keys.ts).
 */
const notes = [revocationNotes, useNotes, operatorTokens, logBytesNotes, jobNotes, languageNotes];

/** The tables of notes, with the columns and keys that they have in Postgres. */
export async function noteTables(client: pg.ClientBase): Promise<CopiedTable[]> {
  const { rows } = await client.query<Omit<CopiedTable, 'isCut'>>(
    `select namespace.nspname as schema, class.relname as name,
        array(select attname::text from pg_attribute where attrelid = class.oid and attnum > 0 and not attisdropped
        order by attnum) as columns,
        array(select attname::text from pg_index join unnest(indkey) with ordinality as keys(attnum, place) on true
          join pg_attribute using (attnum) where indrelid = class.oid and indisprimary and attrelid = class.oid
          order by place) as key
      from unnest($1::text[]) as asked(name) join pg_class class on class.oid = asked.name::regclass
      join pg_namespace namespace on namespace.oid = relnamespace`,
    [notes],
  );
  return rows.map((table) => ({ ...table, isCut: false }));
}
