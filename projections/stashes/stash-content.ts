/** The content of a stash, as an import sees it: its segments in order, and their joint profile. */
import { ProfileChain } from '../../src/language/values/build-profile.ts';
import type { ColumnProfile, Place, Profile } from '../../src/language/values/profile.ts';
import { runsIn, runsMax } from '../segments/row-ids-of-event.ts';
import type { ChunkBlock } from './stash.ts';
import type { ArrivedSegment } from '../segments/arrived-rows.ts';

export interface StashContent {
  readonly profile: Profile;
  readonly segments: readonly ArrivedSegment[];
  /** How many different columns it may name; if `hasTooManyColumns` it names more, and the content is incomplete. */
  readonly columnsMax: number;
  readonly hasTooManyColumns: boolean;
  /** Names the place of a row in messages: `chunk 7, rows[3]`. */
  placeOf(place: Place): string;
}

/**
 * A chunk that is only a header has columns but no row. Its columns get positions before the next row: negative ones,
 * of which each such chunk takes `headerPositions`, for at most `headersMax` such chunks.
 */
const headerPositions = 2 ** 20;
const headersMax = 2 ** 31;

/**
 * How many different columns a stash may name where the event of its import sets no limit. Must not change: replay
 * would give other outcomes.
 */
export const defaultColumnsMax = 10_000;

/**
 * Takes the blocks of a stash in order. Shares equal parts of their profiles, so that many blocks take little memory.
 */
export class StashContentBuilder {
  readonly #segments: ArrivedSegment[] = [];
  readonly #serials: string[] = [];
  /** The number of the first row of each chunk that has rows. */
  readonly #starts: number[] = [];
  /** The serials of the chunks that are only a header. */
  readonly #headers: string[] = [];
  readonly #forms = new Map<string, readonly ColumnProfile[]>();
  readonly #profile = new ProfileChain();
  readonly #columnsMax: number;
  #runs = 0;

  /** @param columnsMax how many different columns it may name */
  constructor(columnsMax: number) {
    this.#columnsMax = columnsMax;
  }

  /** Whether it names too many columns already: what follows is not looked at. */
  get hasTooManyColumns(): boolean {
    return this.#profile.columnCount > this.#columnsMax;
  }

  add(serial: string, { segment, profile, ids }: ChunkBlock): void {
    if (this.hasTooManyColumns) return;
    if (segment !== null) {
      if (this.#serials.at(-1) !== serial) {
        this.#serials.push(serial);
        this.#starts.push(this.#profile.rows);
      }
      // Above the limit the import is refused anyway, so no more runs are kept.
      this.#segments.push({
        key: segment,
        profile: { ...profile, columns: this.#formOf(profile) },
        ids: this.#runs > runsMax ? null : ids,
      });
      this.#runs += runsIn(ids);
    }
    this.#profile.add(segment === null && profile.columns.length > 0 ? this.#asHeader(serial, profile) : profile);
  }

  build(): StashContent {
    const [serials, starts, headers] = [this.#serials, this.#starts, this.#headers];
    return {
      profile: this.#profile.build(),
      segments: this.#segments,
      columnsMax: this.#columnsMax,
      hasTooManyColumns: this.hasTooManyColumns,
      placeOf: ({ row, position }) => {
        if (position < 0) return `chunk ${headers[headersMax + Math.floor(position / headerPositions)]!}, rows[0]`;
        const chunk = starts.findLastIndex((start) => start <= row);
        return `chunk ${serials[chunk]!}, rows[${row - starts[chunk]!}]`;
      },
    };
  }

  #asHeader(serial: string, profile: Profile): Profile {
    const start = (this.#headers.length - headersMax) * headerPositions;
    this.#headers.push(serial);
    const columns = profile.columns.map((column) => {
      return { ...column, first: { row: 0, position: start + column.first.position } };
    });
    return { ...profile, columns };
  }

  /**
   * The columns with only what decides how rows are read (`isPlain`); the places of misfits are kept for the whole
   * stash only.
   */
  #formOf({ columns }: Profile): readonly ColumnProfile[] {
    const form = columns.map(({ id, stored, misfits }): ColumnProfile => ({
      id,
      stored,
      first: { row: 0, position: 0 },
      natural: null,
      misfits: [
        { row: 0, position: 0, types: misfits.reduce((set, { types }) => set | types, 0), wrapped: 0, value: '' },
      ],
    }));
    const name = JSON.stringify(form.map(({ id, stored, misfits }) => [id, stored, misfits[0]!.types]));
    const known = this.#forms.get(name) ?? form;
    this.#forms.set(name, known);
    return known;
  }
}
