import { describe, expect, test } from '@jest/globals';
import { defineEntity, p } from '@mikro-orm/core';
import { HexBytes, LineText, StoredTable } from '../../../../src/storage/database/stored-table.ts';

const ThingEntity = defineEntity({
  name: 'Thing',
  tableName: 'things',
  properties: {
    owner: p.uuid().primary(),
    place: p.integer().primary().autoincrement(false),
    bytesMax: p.bigint('number'),
    version: p.bigint(),
    digest: p.type(HexBytes),
    runs: p.blob().nullable(),
    body: p.type(LineText).nullable(),
    tidied: p.boolean().default(false),
  },
});

const things = StoredTable.of(ThingEntity, { without: ['tidied'] });

const parameters = 'owner, place, bytes_max, version, digest, runs, body';
const one = '(values ($1::uuid, $2::int4, $3::int8, $4::int8, $5::text, $6::bytea, $7::text))';
const row = { owner: 'a', place: 1, bytesMax: 2, version: 3n, digest: 'ff', runs: null, body: null };

/** The statement over one row, without its line breaks. */
const textOf = (statement: { bind(rows: readonly (typeof row)[]): { statement: { text: string } } }): string => {
  return statement.bind([row]).statement.text.replaceAll(/\s+/g, ' ');
};

describe('the table of an entity', () => {
  test('is selected under the names of its properties', () => {
    expect(things.columns()).toBe(
      'things.owner as "owner", things.place as "place", things.bytes_max::float8 as "bytesMax", things.version as "version", ' +
        `encode(things.digest, 'hex') as "digest", things.runs as "runs", things.body as "body"`,
    );
    expect(things.columns('found')).toContain('found.bytes_max::float8 as "bytesMax"');
  });

  test('is compared under its own names, and by values that are equal or not', () => {
    expect(things.compared({ without: ['place', 'body'] })).toBe(
      `things.owner, things.bytes_max, things.version, encode(things.digest, 'hex') as digest, encode(things.runs, 'hex') as runs`,
    );
  });

  test('is written with rows', () => {
    expect(textOf(things.insert('insert_things', 'on conflict do nothing'))).toBe(
      `insert into things (${parameters}) select given.owner, given.place, given.bytes_max, given.version, decode(given.digest, 'hex'), ` +
        `given.runs, nullif(given.body, '') from ${one} as given(${parameters}) on conflict do nothing`,
    );
    expect(things.insert('insert_things').bind([row]).values).toEqual(['a', 1, 2, 3n, 'ff', null, '']);
  });

  test('updates rows by their key', () => {
    expect(textOf(things.upsert('upsert_things', ['version', 'digest']))).toMatch(
      / on conflict \(owner, place\) do update set version = excluded\.version, digest = excluded\.digest$/,
    );
    expect(textOf(things.update('update_things', ['digest', 'body']))).toBe(
      `update things set digest = decode(given.digest, 'hex'), body = nullif(given.body, '') ` +
        'from (values ($1::uuid, $2::int4, $3::text, $4::text)) as given(owner, place, digest, body) ' +
        'where things.owner = given.owner and things.place = given.place',
    );
    expect(textOf(things.delete('delete_things'))).toBe(
      'delete from things using (values ($1::uuid, $2::int4)) as given(owner, place) where things.owner = given.owner and things.place = given.place',
    );
  });

  test('has no column of a type that no statement can write', () => {
    const entity = defineEntity({
      name: 'Odd',
      tableName: 'odd',
      properties: { id: p.uuid().primary(), at: p.datetime() },
    });
    expect(() => StoredTable.of(entity)).toThrow('at');
    expect(StoredTable.of(entity, { without: ['at'] }).columns()).toBe('odd.id as "id"');
  });
});
