/** Teams that are suspended and get plans while they write, tokens, and facts about unknown teams. */
import type { PlanLimits } from '../../../src/language/events/quota.ts';
import type { Random } from '../../support/random.ts';
import type { GeneratorOf } from './generator.ts';

const noPlan = {
  tablesMax: null,
  stashesMax: null,
  openBodiesMax: null,
  openUploadsMax: null,
  openUploadBytesMax: null,
  logBytesPerDayMax: null,
} as const;

/** A plan that leaves no room, or little. */
function noRoom(r: Random): Partial<PlanLimits> {
  const limits = {
    tablesMax: 4,
    stashesMax: 2,
    openBodiesMax: 1,
    openUploadsMax: 2,
    openUploadBytesMax: 300,
    logBytesPerDayMax: 1,
  };
  return Object.fromEntries(Object.entries(limits).filter(() => r.chance(0.5)));
}

export const generateTeams: GeneratorOf = ({ teamId, random: r, sender }) => {
  const tokens: string[] = [];
  let tokenSteps = 0;
  let [suspendedFrom, plannedFrom] = [-1, -1];

  function changeTokens(): void {
    tokenSteps += 1;
    // Every second token step revokes, so that every log has a revocation.
    if (tokenSteps % 2 === 0) {
      sender.send({ type: 'TokenRevoked', teamId: r.chance(0.2) ? r.uuid() : teamId, tokenId: r.pick(tokens) });
      return;
    }
    const tokenId = r.uuid();
    const hash = (r.uuid() + r.uuid()).replaceAll('-', '');
    sender.send({
      type: 'TokenCreated',
      teamId,
      tokenId,
      name: `token ${r.below(9)}`,
      hash,
      expiresAt: r.pick([null, 1_900_000_000_000]),
      readOnly: r.chance(0.5),
      appId: r.pick([null, 'app-1']),
      ...(r.chance(0.5) && { endsIn: '9c41f0' }),
    });
    tokens.push(tokenId);
  }

  function tellOfNobody(): void {
    const nobody = r.uuid();
    sender.send(
      r.pick([
        { type: 'TeamSuspended', teamId: nobody },
        { type: 'TeamPlanSet', teamId: nobody, rowsMax: 3 },
        { type: 'TokenRevoked', teamId: nobody, tokenId: r.uuid() },
      ] as const),
    );
  }

  function refuse(): void {
    sender.send({
      type: 'RequestRefused',
      teamId,
      refusal: { type: 'table_not_found', message: 'there is no such table' },
    });
  }

  return {
    steps: [
      [5, changeTokens],
      [5, tellOfNobody],
      [3, refuse],
    ],
    begin: async () => {
      sender.send({ type: 'TeamCreated', teamId, name: `team ${teamId.slice(0, 4)}` });
      sender.send({ type: 'TeamCreated', teamId, name: 'the same once more' });
    },
    beginBurst: (steps) => {
      suspendedFrom = r.chance(0.25) ? r.below(steps) : -1;
      plannedFrom = r.chance(0.25) ? r.below(steps) : -1;
    },
    beforeStep: (step) => {
      if (step === suspendedFrom) sender.send({ type: 'TeamSuspended', teamId });
      if (step === plannedFrom) sender.send({ type: 'TeamPlanSet', teamId, rowsMax: 1, ...noRoom(r) });
      if (step === suspendedFrom + 15) sender.send({ type: 'TeamResumed', teamId });
      if (step === plannedFrom + 25) sender.send({ type: 'TeamPlanSet', teamId, rowsMax: null, ...noPlan });
    },
    endBurst: () => {
      sender.send({ type: 'TeamResumed', teamId });
      sender.send({ type: 'TeamPlanSet', teamId, rowsMax: r.chance(0.5) ? null : 2 ** 40, ...noPlan });
    },
  };
};
