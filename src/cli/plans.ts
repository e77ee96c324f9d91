/** `tablog plans`: how much of the service a team may use, and whether it may use it at all. */
import { InvalidArgumentError, type Command } from 'commander';
import { resumeTeam, setPlan, suspendTeam, type Plan } from '../../commands/plans.ts';
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import type { EventData } from '../language/events/event.ts';
import { nounOf, planQuotas, type PlanQuota } from '../language/events/quota.ts';
import { changeTeam, teamAsJson } from '../administration/teams.ts';
import { readConfig } from '../app/config.ts';
import type { AuditAction, AuditDetails } from '../administration/audit/audit-log.ts';
import { audited } from './audited.ts';
import { parseByteSize } from '../language/byte-size.ts';
import { wholeNumber, writeOut, writeWords } from './console.ts';
import { UserError } from './user-error.ts';
import { dayOf, readLogBytes } from '../api/usage/log-bytes-notes.ts';
import { hasDefault, quotasOf } from '../api/usage/team-quotas.ts';
import { describeLimit, writeQuotas } from './show-teams.ts';
import { findTeam, withReadModel, withService } from './with-service.ts';

interface Flags {
  readonly json?: boolean;
}

/**
 * A limit as the flags give it; `none`: the plan sets none. Not null, which Commander takes for an option without a
 * value.
 */
type Limit = number | 'none';

type PlanFlags = Flags & { readonly [Q in PlanQuota]?: Limit };

/** The flag of each quota, and what it limits. */
const planFlags: { readonly [Q in PlanQuota]: readonly [flag: string, limits: string] } = {
  rows: ['--rows <n>', 'the most rows that its tables may show'],
  tables: ['--tables <n>', 'the most tables that it may have'],
  stashes: ['--stashes <n>', 'the most stashes that are neither deleted nor expired'],
  openBodies: ['--open-bodies <n>', 'the most bodies of several blocks that are being appended'],
  openUploads: ['--open-uploads <n>', 'the most uploads that are neither completed nor over'],
  openUploadBytes: ['--open-upload-bytes <size>', 'the most bytes that may arrive for these uploads'],
  uploadBytes: ['--upload-bytes <size>', 'the most bytes that its uploaded files may have (500MB, 10GiB)'],
  logBytesPerDay: ['--log-bytes-per-day <size>', 'the most bytes that its writes may append to the log in a day (UTC)'],
};

export function addPlanCommands(program: Command): void {
  const plans = program.command('plans').description('show and set the plans of teams; suspend and resume teams');
  const command = (name: string, description: string): Command => {
    return plans
      .command(name)
      .description(description)
      .argument('<team>', 'its ID or name')
      .option('--json', 'write the result as JSON');
  };
  command('show', 'show each quota of a team: what it uses, how much it may use, and what says so').action(show);
  const setting = command('set', 'limit what a team may have; what is not named stays as it is');
  for (const quota of planQuotas) {
    const [flag, limits] = planFlags[quota];
    setting.option(flag, `${limits}, or "${noLimitOf(quota)}"`, (text) => limitOf(quota, text));
  }
  setting.action(set);
  command('suspend', 'answer 402 when a team reads or writes tables, and at the URLs of its files').action(
    (team: string, flags: Flags) => change('plan.suspend', team, flags, suspendTeam, () => 'is suspended'),
  );
  command('resume', 'end the suspension of a team').action((team: string, flags: Flags) =>
    change('plan.resume', team, flags, resumeTeam, () => 'is not suspended'),
  );
}

async function show(idOrName: string, flags: Flags): Promise<void> {
  const { team, quotas } = await withReadModel(({ database, queries }, withLog) =>
    withLog(async (log) => {
      const team = await findTeam(queries, idOrName);
      const [noted] = await readLogBytes(database.pool, dayOf(log.now()), [team.id]);
      return { team, quotas: quotasOf(team, noted!.used, readConfig()) };
    }),
  );
  if (flags.json) {
    writeOut(JSON.stringify({ ...teamAsJson(team), quotas }));
    return;
  }
  writeOut(`${team.id}  ${team.name}  ${team.suspended ? 'suspended' : 'active'}`);
  await writeQuotas(quotas);
}

async function set(idOrName: string, flags: PlanFlags): Promise<void> {
  const limits = planQuotas.flatMap((quota) => {
    const limit = flags[quota];
    return limit === undefined ? [] : [[`${quota}Max`, limit === 'none' ? null : limit]];
  });
  if (limits.length === 0) {
    throw new UserError(
      `Nothing says what to limit: give ${planQuotas.map((quota) => planFlags[quota][0].split(' ')[0]).join(', ')}.`,
    );
  }
  const plan = Object.fromEntries(limits) as Plan;
  await change('plan.set', idOrName, flags, (teamId) => setPlan(teamId, plan), describePlan, { ...plan });
}

/** What the plan says; of rows and bytes of files also that it says nothing, because nothing else limits them. */
function describePlan(team: TeamSummary): string {
  const limited = planQuotas.filter((quota) => !hasDefault(quota) || (team[`${quota}Max`] ?? null) !== null);
  const limits = limited.map((quota) => `${describeLimit(team[`${quota}Max`])} ${nounOf(quota)}`);
  return `may have ${limits.slice(0, -1).join(', ')} and ${limits.at(-1)}`;
}

async function change(
  action: AuditAction,
  idOrName: string,
  flags: Flags,
  eventFor: (teamId: string) => EventData & { readonly teamId: string },
  describe: (changed: TeamSummary) => string,
  details: AuditDetails = {},
): Promise<void> {
  const team = await audited(action, { team: idOrName, ...details }, (details) =>
    withService(async (service) => {
      const { id } = await findTeam(service, idOrName);
      details['teamId'] = id;
      return changeTeam(service, eventFor(id));
    }),
  );
  if (flags.json) writeOut(JSON.stringify(teamAsJson(team)));
  else writeWords(`The team ${JSON.stringify(team.name)} ${describe(team)}.`);
}

/** The word for a plan that sets no limit. */
function noLimitOf(quota: PlanQuota): string {
  return hasDefault(quota) ? 'default' : 'unlimited';
}

function limitOf(quota: PlanQuota, text: string): Limit {
  const none = noLimitOf(quota);
  if (text === none) return 'none';
  if (planFlags[quota][0].endsWith('<size>')) {
    const bytes = parseByteSize(text);
    if (bytes === null) throw new InvalidArgumentError(`It must be a size like 1000000, 500MB or 10GiB, or "${none}".`);
    return bytes;
  }
  try {
    return wholeNumber(0)(text);
  } catch {
    throw new InvalidArgumentError(`It must be a whole number, or "${none}".`);
  }
}
