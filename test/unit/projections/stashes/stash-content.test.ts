/** What an import sees of a stash: as if the rows of all its chunks had come in one body. */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { KeyReservation } from '../../../../src/log/batch/local-keys.ts';
import type { States } from '../../../../projections/models.ts';
import type { Chunk, ChunkBlock, Stash } from '../../../../projections/stashes/stash.ts';
import { chunkBlockRows } from '../../../../projections/stashes/stashes.store.ts';
import { loadStashContents } from '../../../../projections/stashes/load-stashes.ts';
import { defaultColumnsMax, StashContentBuilder } from '../../../../projections/stashes/stash-content.ts';
import { compareSerials, numericOrderOf } from '../../../../projections/stashes/stash-order.ts';
import type { Statement, Tx } from '../../../../src/storage/database/pipelined-client.ts';
import { DelimitedRowReader } from '../../../../src/language/formats/delimited-row-reader.ts';
import { concatenateAll, emptyProfile } from '../../../../src/language/values/build-profile.ts';
import { columnTypes } from '../../../../src/language/values/column-type.ts';
import { holdsCells, isPlain } from '../../../../src/language/values/presentation.ts';
import type { Profile } from '../../../../src/language/values/profile.ts';
import { change, openStates } from '../../../support/decisions.ts';
import { add, eventOf, stash as imported } from '../../../support/requests.ts';
import { anyRows, profileOf, profileOfRows } from '../../language/values/rows.ts';

/** The profiles of CSV texts: without rows, of cells that are exactly such a token, and others. */
const cellProfiles = ['a,b', 'a\n1\n2', 'b,a\ntrue,x', 'a,10\n 1,\n,2024-01-01', '__proto__\n[1]', 'e\nnull'].map(
  (text) => {
    const reader = new DelimitedRowReader({ delimiter: ',' });
    return [...reader.push(Buffer.from(text)), ...reader.end().blocks][0]!.profile;
  },
);

const anyProfile: fc.Arbitrary<Profile> = fc.oneof(
  { weight: 3, arbitrary: anyRows.map(profileOf) },
  { weight: 1, arbitrary: fc.constantFrom(...cellProfiles, emptyProfile) },
);

/** Chunks of one to three blocks; those without rows have no segment. */
const anyChunks = fc.array(fc.array(anyProfile, { minLength: 1, maxLength: 3 }), { maxLength: 6 });

const blockOf = (profile: Profile, segment: number): ChunkBlock => ({
  segment: profile.rows === 0 ? null : BigInt(segment),
  profile,
  ids: null,
});

/** A schema in which each column has had some types. */
const anySchema = fc
  .array(
    fc.record({
      id: fc.constantFrom('a', 'b', '10', '__proto__', 'e'),
      types: fc.array(fc.constantFrom(...columnTypes), { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 5 },
  )
  .map((columns) => ({
    columns: [...new Map(columns.map((column) => [column.id, column])).values()].map(({ id, types }) => ({
      id,
      types: types.map((type, at) => ({ type, since: BigInt(at * 10) })),
    })),
  }));

/** Headers alone stand at places of their own. */
const withoutHeaderPlaces = (profile: Profile): unknown => ({
  ...profile,
  columns: profile.columns.map(({ first, ...column }) => ({ ...column, row: first.row })),
});

describe('the content of a stash', () => {
  test('needs the schema that the rows of all chunks together need', () => {
    fc.assert(
      fc.property(anyChunks, (chunks) => {
        const builder = new StashContentBuilder(defaultColumnsMax);
        chunks.forEach((blocks, chunk) =>
          blocks.forEach((profile, at) => builder.add(`c${chunk}`, blockOf(profile, chunk * 10 + at))),
        );
        const content = builder.build();
        const whole = concatenateAll(chunks.flat());
        expect(withoutHeaderPlaces(content.profile)).toEqual(withoutHeaderPlaces(whole));
        if (chunks.flat().every(({ rows }) => rows > 0)) expect(content.profile).toEqual(whole);
        expect(content.segments.map(({ key }) => key)).toEqual(
          chunks.flatMap((blocks, chunk) =>
            blocks.flatMap(({ rows }, at) => (rows === 0 ? [] : [BigInt(chunk * 10 + at)])),
          ),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test('contains for each block how its rows are read', () => {
    fc.assert(
      fc.property(fc.array(anyProfile, { maxLength: 6 }), anySchema, fc.nat(40), (profiles, schema, version) => {
        const builder = new StashContentBuilder(defaultColumnsMax);
        const withRows = profiles.filter(({ rows }) => rows > 0);
        withRows.forEach((profile, at) => builder.add(String(at), blockOf(profile, at)));
        const { segments } = builder.build();
        for (const [at, { profile }] of segments.entries()) {
          const whole = withRows[at]!;
          expect(profile).toMatchObject({ rows: whole.rows, bytes: whole.bytes, rowBytesMax: whole.rowBytesMax });
          expect(isPlain(profile, schema, BigInt(version))).toBe(isPlain(whole, schema, BigInt(version)));
          expect(holdsCells(profile)).toBe(holdsCells(whole));
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('stores only once what many chunks have in common', () => {
    const builder = new StashContentBuilder(defaultColumnsMax);
    for (let at = 0; at < 5; at += 1)
      builder.add(String(at), blockOf(profileOfRows('{"a":1}', `{"a":${at},"b":"x"}`), at));
    expect(new Set(builder.build().segments.map(({ profile }) => profile.columns)).size).toBe(1);
  });

  test('names each row by its chunk and its place in the chunk', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(4), { minLength: 1, maxLength: 3 }), { maxLength: 8 }), (chunks) => {
        const builder = new StashContentBuilder(defaultColumnsMax);
        const places: string[] = [];
        chunks.forEach((blocks, chunk) => {
          // Only a chunk without rows has a block without rows.
          const counts = blocks.every((rows) => rows === 0) ? [0] : blocks.filter((rows) => rows > 0);
          let row = 0;
          for (const rows of counts) {
            builder.add(`c${chunk}`, blockOf({ ...emptyProfile, rows }, 1));
            for (let at = 0; at < rows; at += 1, row += 1) places.push(`chunk c${chunk}, rows[${row}]`);
          }
        });
        const content = builder.build();
        expect(places.map((_, row) => content.placeOf({ row, position: row % 3 }))).toEqual(places);
      }),
      { numRuns: 500 },
    );
  });
});

test('only a limited number of different columns is read', () => {
  const builder = new StashContentBuilder(defaultColumnsMax);
  const contentOf = (chunk: number): Profile =>
    profileOfRows(`{${Array.from({ length: 500 }, (_, at) => `"c${chunk * 500 + at}":1`).join()}}`);
  const chunks = defaultColumnsMax / 500;
  for (let chunk = 0; chunk < chunks; chunk += 1) builder.add(String(chunk), blockOf(contentOf(chunk), chunk));
  expect(builder.build()).toMatchObject({ hasTooManyColumns: false, profile: { rows: chunks } });
  builder.add('one more', blockOf(contentOf(chunks), chunks));
  builder.add('another', blockOf(contentOf(chunks + 1), chunks + 1));
  expect(builder.build()).toMatchObject({ hasTooManyColumns: true, profile: { rows: chunks + 1 } });
});

describe('the content that is fetched', () => {
  const stash: Stash = {
    key: 5n,
    teamId: 'team',
    stashId: 'stash',
    created: 1n,
    createdAt: 0,
    expiresAt: 9,
    chunks: 0,
    rows: 0,
    profiledColumns: 0,
    words: 0,
    endedAt: null,
  };
  const profile = profileOfRows('{"a":1}');
  const chunkOf = (serial: string, key: number, blocks: number): Chunk => ({
    key: BigInt(key),
    stash: 5n,
    serial,
    rows: blocks,
    profiledColumns: blocks,
    blocks: Array.from({ length: blocks }, (_, at) => ({ segment: BigInt(key * 10 + at), profile, ids: null })),
  });

  /** Answers as Postgres would that holds these chunks. */
  function holding(chunks: readonly Chunk[]): Tx {
    return {
      query: async <Row extends object>({ name: statement }: Statement<Row>, values?: readonly unknown[]) => {
        const isNumeric = statement.endsWith('by_number');
        const [, ...from] = values as [bigint, ...unknown[]];
        const [serial, number] = from.slice(-2) as [string, number];
        const order = (a: readonly [string, number], b: readonly [string, number]): number =>
          (a[0] === '' || b[0] === '' ? a[0].length - b[0].length : compareSerials(a[0], b[0], isNumeric)) ||
          a[1] - b[1];
        if (isNumeric) expect(from[0]).toBe(serial === '' ? '' : numericOrderOf(serial));
        const rows: object[] = chunks
          .flatMap(chunkBlockRows)
          .filter((block) => order([block.serial, block.number], [serial, number]) > 0)
          .toSorted((a, b) => order([a.serial, a.number], [b.serial, b.number]))
          .slice(0, 200);
        return { rows: rows as Row[], rowCount: rows.length, command: 'SELECT' };
      },
    };
  }

  const stateWith = (given: Stash | null, chunks: readonly Chunk[] = []): States => {
    const state = openStates();
    if (given !== null) state.stashes.put(given);
    change(
      state,
      chunks.map((chunk) => ({ kind: 'chunk', chunk, replaces: null })),
    );
    return state;
  };

  /** Loads what two imports of the stash take, and gives how many keys are reserved for them. */
  async function keysForTwoImports(tx: Tx, states: States, before: States | null): Promise<number> {
    let reserved = 0;
    const keys = new KeyReservation(async (_, count) => {
      reserved += count;
      return Array.from({ length: count }, () => 0n);
    });
    const event = eventOf(add(imported));
    const writeFirst = (): never => {
      throw new Error('nothing is to be written');
    };
    await loadStashContents({
      tx,
      states,
      before,
      keys,
      writeFirst,
      events: [event, event],
      remembered: null,
      committed: null,
      isAhead: false,
    });
    return reserved;
  }

  const anySerials = (serial: fc.Arbitrary<string>) =>
    fc.uniqueArray(fc.tuple(serial, fc.integer({ min: 1, max: 3 })), { selector: ([each]) => each, maxLength: 300 });

  test.each<readonly [string, boolean, fc.Arbitrary<string>]>([
    ['numbers', true, fc.tuple(fc.nat(2), fc.nat(400)).map(([zeros, number]) => '0'.repeat(zeros) + String(number))],
    ['words', false, fc.stringMatching(/^[0-9a-c][0-9a-c_-]{0,2}$/)],
  ])(
    'has each chunk once, in the order of %s: the newest of what is stored, of the batch before and of this one',
    async (_name, asNumbers, serial) => {
      await fc.assert(
        fc.asyncProperty(anySerials(serial), anySerials(serial), anySerials(serial), async (stored, before, here) => {
          const [old, last, fresh] = [stored, before, here].map((chunks, layer) =>
            chunks.map(([each, blocks], at) => chunkOf(each, layer * 1000 + at + 1, blocks)),
          );
          const state = stateWith({ ...stash, words: asNumbers ? 0 : 1 }, fresh);
          const newest = new Map([...old!, ...last!, ...fresh!].map((chunk) => [chunk.serial, chunk]));
          const expected = [...newest.values()]
            .toSorted((a, b) => compareSerials(a.serial, b.serial, asNumbers))
            .flatMap(({ blocks }) => blocks.map(({ segment }) => segment));
          expect(await keysForTwoImports(holding(old!), state, stateWith(null, last))).toBe(expected.length * 2);
          expect(state.stashes.content(5n).segments.map(({ key }) => key)).toEqual(expected);
        }),
        { numRuns: 60 },
      );
    },
  );

  test.each<readonly [string, Stash | null]>([
    ['is not there', null],
    ['has ended', { ...stash, endedAt: 3 }],
  ])('is not asked for where the stash %s', async (_name, given) => {
    const state = stateWith(given);
    const tx = { query: () => Promise.reject(new Error('it was asked for')) };
    expect(await keysForTwoImports(tx, state, null)).toBe(0);
    expect(() => state.stashes.content(5n)).toThrow('was not loaded');
  });
});
