/** Stashes: chunks in any order, repeated, and for ended stashes; and imports. */
import type { RowSource } from '../../../src/language/events/row-source.ts';
import type { SchemaErrorMode } from '../../../src/language/values/decide-schema.ts';
import { rowsOf, sampleNames, type SampleRows } from '../row-samples.ts';
import type { GeneratorOf, TeamMaterial } from './generator.ts';

const hour = 3_600_000;
const roomy = { lifeMs: hour, chunksMax: 1000, rowsMax: 1e6, profiledColumnsMax: 1e6, stashesMax: 1000 };
const modes: readonly SchemaErrorMode[] = ['abort', 'dropColumns', 'updateSchema'];

type StashSource = Extract<RowSource, { readonly kind: 'stash' }>;

/** One of a few stashes, of the team or of an app, so that each is used repeatedly. */
export function anyStash({ random: r }: Pick<TeamMaterial, 'random'>): StashSource {
  return { kind: 'stash', stashId: `${r.chance(0.3) ? 'an app/' : ''}stash${r.below(4)}` };
}

/** Puts a chunk with the given rows, or with random ones. */
export async function sendChunk(
  { random: r, sender, teamId, blocks, sendBody }: TeamMaterial,
  stashId: string,
  given?: SampleRows,
): Promise<void> {
  const { carried, body } = given ?? (await rowsOf(r, 1 + r.below(5), r.chance(0.7) ? 'plain' : r.pick(sampleNames)));
  const kind = r.pick(['none', 'block', 'block', 'body']);
  const rows =
    kind === 'none'
      ? ({ kind } as const)
      : kind === 'block'
        ? ({ kind, ...carried, segmentId: r.uuid() } as const)
        : sendBody([r.pick(blocks), r.pick(blocks)]);
  const serial = r.chance(0.1) ? r.pick(['a', '-x', 'B_1']) : r.pick(['1', '2', '007', '7', '10', '9']);
  // Now and then the stash expires at once.
  const limits = {
    ...roomy,
    ...(r.chance(0.1) && { lifeMs: 0 }),
    ...(r.chance(0.02) && { chunksMax: 0 }),
    ...(r.chance(0.2) && { stashesMax: r.below(5) }),
  };
  sender.send({ type: 'ChunkPutRequested', teamId, stashId, serial, limits, rows }, body);
}

export const generateStashes: GeneratorOf = (team) => {
  const { teamId, random: r, sender, tables, addRows } = team;

  /** Mostly puts a chunk. Returns the stash, unless it was ended. */
  async function changeStash(): Promise<StashSource | null> {
    const stash = anyStash(team);
    const { stashId } = stash;
    const roll = r.next();
    if (roll < 0.2) sender.send({ type: 'StashDeleteRequested', teamId, stashId });
    else if (roll < 0.4) sender.send({ type: 'StashExpired', teamId, stashId, created: BigInt(r.below(1000)) });
    else for (let chunks = 1 + r.below(5); chunks > 0; chunks -= 1) await sendChunk(team, stashId);
    return roll < 0.4 ? null : stash;
  }

  return {
    steps: [
      [
        10,
        async () => {
          const stash = await changeStash();
          if (stash !== null && r.chance(0.7)) addRows(tables.pick(), stash, undefined, r.pick(modes));
        },
      ],
      [10, () => addRows(tables.any(), anyStash(team))],
    ],
    // Every log has a stash with rows that is deleted, an event that a stash has expired, and a stash that stays.
    begin: async () => {
      const { stashId } = anyStash(team);
      await sendChunk(team, stashId);
      sender.send({ type: 'StashDeleteRequested', teamId, stashId });
      sender.send({ type: 'StashExpired', teamId, stashId, created: 0n });
      const { carried, body } = await rowsOf(r, 3, 'plain');
      sender.send(
        {
          type: 'ChunkPutRequested',
          teamId,
          stashId: 'kept',
          serial: '1',
          limits: roomy,
          rows: { kind: 'block', ...carried, segmentId: r.uuid() },
        },
        body,
      );
    },
  };
};
