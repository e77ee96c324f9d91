/** The content of a stash, as an import sees it: its segments in order, and their joint profile. */
import { ProfileChain } from '../../src/language/values/build-profile.ts';
import type { ColumnProfile, Place, Profile } from '../../src/language/values/profile.ts';
import { runsIn, runsMax } from '../segments/row-ids-of-event.ts';
import type { ChunkBlock } from './stash.ts';
import type { ArrivedSegment } from '../segments/arrived-rows.ts';

export interface StashContent {
  readonly profile: Profile;
  readonly segments: readonly ArrivedSegment[];
  /**
   * How many different columns the stash may name. If `hasTooManyColumns`, it names more, and the content is
   * incomplete.
   */
  readonly columnsMax: number;
  readonly hasTooManyColumns: boolean;
  /** Names the place of a row in messages: `chunk 7, rows[3]`. */
  placeOf(place: Place): string;
}

/**
 * A chunk that is only a header has columns but no row. Its columns get negative positions, before the next row. Each
 * such chunk takes `headerPositions` of them, and at most `headersMax` such chunks are counted.
 */
const headerPositions = 2 ** 20;
const headersMax = 2 ** 31;

/**
 * How many different columns a stash may name if the event of its import sets no limit. Must not change: replay would
 * give other outcomes.
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

  /** Whether the stash already names too many columns. Further blocks are then ignored. */
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
      // Above the limit the import is refused anyway, so further runs are not kept.
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
   * The columns, with only the parts that decide how rows are read (`isPlain`). The places of misfits are kept once,
   * for the whole stash.
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
