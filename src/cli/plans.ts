/** `tablog plans`: quotas of teams, and their suspension. */
import { InvalidArgumentError, type Command } from 'commander';
import { resumeTeam, setPlan, suspendTeam, type Plan } from '../../commands/plans.ts';
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import type { EventData } from '../language/events/event.ts';
import { nounOf, planQuotas, type PlanQuota } from '../language/events/quota.ts';
import { changeTeam, teamAsJson } from '../administration/teams.ts';
import { readConfig } from '../app/config.ts';
import type { AuditAction, AuditDetails } from '../administration/audit/audit-log.ts';
import { auditedCommand } from './audited.ts';
import { parseByteSize } from '../language/byte-size.ts';
import { wholeNumber, writeOut, writeWords } from './console.ts';
import { UserError } from './user-error.ts';
import { dayOf, readLogBytes } from '../api/usage/log-bytes-notes.ts';
import { hasDefault, quotasOf } from '../api/usage/team-quotas.ts';
import { describeLimit, writeQuotas } from './show-teams.ts';
import { findTeamByIdOrName, withReadModel, withService } from './with-service.ts';

interface Flags {
  readonly json?: boolean;
}

/**
 * A limit in the flags; `none`: the plan sets no limit. It cannot be null, because Commander treats null as an option
 * without a value.
 */
type Limit = number | 'none';

type PlanFlags = Flags & { readonly [Q in PlanQuota]?: Limit };

/** The flag of each quota, and its help. */
const planFlags: { readonly [Q in PlanQuota]: readonly [flag: string, limits: string] } = {
  rows: ['--rows <n>', 'the maximum number of rows in its tables'],
  tables: ['--tables <n>', 'the maximum number of tables'],
  stashes: ['--stashes <n>', 'the maximum number of stashes that are not deleted or expired'],
  openBodies: ['--open-bodies <n>', 'the maximum number of large request bodies that are being appended at once'],
  openUploads: ['--open-uploads <n>', 'the maximum number of uploads that are not completed or expired'],
  openUploadBytes: ['--open-upload-bytes <size>', 'the maximum size of all open uploads together'],
  uploadBytes: ['--upload-bytes <size>', 'the maximum size of its uploaded files together, such as 500MB or 10GiB'],
  logBytesPerDay: [
    '--log-bytes-per-day <size>',
    'the maximum size of what its writes append to the log in a day (UTC)',
  ],
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
  command('show', 'show the quotas of a team: how much it uses, the limit, and what sets the limit').action(show);
  const setting = command('set', 'set quotas of a team; quotas that are not given stay as they are');
  for (const quota of planQuotas) {
    const [flag, limits] = planFlags[quota];
    setting.option(flag, `${limits}, or "${noLimitOf(quota)}"`, (text) => limitOf(quota, text));
  }
  setting.action(set);
  command('suspend', 'suspend a team: its requests and the URLs of its files are answered 402').action(
    (team: string, flags: Flags) => change('plan.suspend', team, flags, suspendTeam, () => 'is suspended'),
  );
  command('resume', 'end the suspension of a team').action((team: string, flags: Flags) =>
    change('plan.resume', team, flags, resumeTeam, () => 'is active again'),
  );
}

async function show(idOrName: string, flags: Flags): Promise<void> {
  const { team, quotas } = await withReadModel(({ database, queries }, withLog) =>
    withLog(async (log) => {
      const team = await findTeamByIdOrName(queries, idOrName);
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
      `No quota is given. Give at least one of ${planQuotas.map((quota) => planFlags[quota][0].split(' ')[0]).join(', ')}.`,
    );
  }
  const plan = Object.fromEntries(limits) as Plan;
  await change('plan.set', idOrName, flags, (teamId) => setPlan(teamId, plan), describePlan, { ...plan });
}

/**
 * The limits of the plan. Rows and bytes of files are always shown, because without a limit in the plan they have none.
 */
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
  const team = await auditedCommand(action, { team: idOrName, ...details }, (details) =>
    withService(async (service) => {
      const { id } = await findTeamByIdOrName(service, idOrName);
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
