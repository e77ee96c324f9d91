/** The work of operators beside a service that accepts writes. It must neither lose anything nor stop anybody. */
import { readModelSchema } from '../../projections/models.ts';
import { createReadModel, type World } from './world.ts';
import { clock } from './clock.ts';
import { apart, nothingIsLost, readsMayBeOld, together, type SimulatedFault } from './fault.ts';
import { releaseTeams, resumeLog } from './operator.ts';
import { moves } from './moves.ts';
import { Place } from './place.ts';
import { replays } from './replays.ts';

/** The read model of another version of the service. */
export const otherReadModel = 'of_another_version';

/** Some processes of two versions, each with a read model of its own. */
function twoVersions(world: World): readonly Place[] {
  createReadModel(world.postgres, otherReadModel);
  const versions = world.random.pick([
    [null, otherReadModel],
    [null, null, otherReadModel],
    [null, otherReadModel, otherReadModel],
  ]);
  return versions.map((readModel) => new Place(world, 'all', readModel === null ? {} : { readModel }));
}

export const operations: readonly SimulatedFault[] = [
  ...replays,
  ...moves,
  {
    name: 'two versions write',
    log: 'postgres',
    places: twoVersions,
    judge: readsMayBeOld,
    overlaps: 'as first',
    strike: ({ random }) => clock.sleep(random.between(500, 8000)),
  },
  ...(['kafka', 'postgres'] as const).map((log): SimulatedFault => ({
    name: 'an operator resumes the log beside writes',
    log,
    places: log === 'kafka' ? apart : together,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async ({ world, random }) => {
      for (let count = random.below(3); count >= 0; count -= 1) {
        await resumeLog(world);
        await clock.sleep(random.between(0, 1000));
      }
    },
  })),
  {
    name: 'events cannot be projected, and an operator releases their teams',
    log: 'kafka',
    places: apart,
    judge: nothingIsLost,
    overlaps: 'any',
    strike: async ({ world, random }) => {
      const { postgres } = world;
      // The effect of a damaged index on some rows of some teams. A read model that is rebuilt has another index.
      const refused = random.pick(['client 1.', 'team 3.', '5"']);
      postgres.refuses = (body, readModel) => readModel === readModelSchema && body.includes(refused);
      await clock.sleep(random.between(500, 5000));
      const releasing = random.chance(0.3) ? releaseTeams(world) : null;
      await clock.sleep(random.between(0, 2000));
      postgres.refuses = () => false;
      await releasing;
      await releaseTeams(world);
    },
  },
];
