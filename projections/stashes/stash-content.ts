/** What a stash holds, as an import sees it: its segments in order, and what all of their rows together need of a schema. */
import { concatenate, emptyProfile } from '../../src/schema/build-profile.ts';
import type { ColumnProfile, Place, Profile } from '../../src/schema/profile.ts';
import type { ChunkBlock } from '../decision.ts';
import type { ArrivedSegment } from '../tables/place-rows.ts';

export interface StashContent {
  readonly profile: Profile;
  readonly segments: readonly ArrivedSegment[];
  /** Where a row of the stash stands, for messages: `chunk 7, rows[3]`. */
  placeOf(place: Place): string;
}

/** Takes the blocks of a stash in their order. So that many of them take little memory, all that is equal is kept once. */
export class StashContentBuilder {
  readonly #segments: ArrivedSegment[] = [];
  readonly #serials: string[] = [];
  /** The number of the first row of each chunk that has rows. */
  readonly #starts: number[] = [];
  readonly #forms = new Map<string, readonly ColumnProfile[]>();
  #profile = emptyProfile;

  add(serial: string, { segment, profile, ids }: ChunkBlock): void {
    if (segment !== null) {
      if (this.#serials.at(-1) !== serial) {
        this.#serials.push(serial);
        this.#starts.push(this.#profile.rows);
      }
      this.#segments.push({ key: segment, profile: { ...profile, columns: this.#formOf(profile) }, ids });
    }
    this.#profile = concatenate(this.#profile, profile);
  }

  build(): StashContent {
    const [serials, starts] = [this.#serials, this.#starts];
    return {
      profile: this.#profile,
      segments: this.#segments,
      placeOf: ({ row }) => {
        const chunk = starts.findLastIndex((start) => start <= row);
        return `chunk ${serials[chunk]!}, rows[${row - starts[chunk]!}]`;
      },
    };
  }

  /** The columns with what tells how their rows are read (`isPlain`): what misfits where is known of the whole only. */
  #formOf({ columns }: Profile): readonly ColumnProfile[] {
    const form = columns.map(({ id, stored, misfits }): ColumnProfile => ({
      id, stored, first: { row: 0, position: 0 }, natural: null,
      misfits: [{ row: 0, position: 0, types: misfits.reduce((set, { types }) => set | types, 0), wrapped: 0, value: '' }],
    }));
    const name = JSON.stringify(form.map(({ id, stored, misfits }) => [id, stored, misfits[0]!.types]));
    const known = this.#forms.get(name) ?? form;
    this.#forms.set(name, known);
    return known;
  }
}
