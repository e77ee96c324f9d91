/** `tablog plans`: how much of the service a team may use, and whether it may use it at all. */
import { InvalidArgumentError, type Command } from 'commander';
import { resumeTeam, setPlan, suspendTeam, type Plan } from '../../commands/plans.ts';
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import type { EventData } from '../events/event.ts';
import { recordFact } from '../log/record-fact.ts';
import type { AuditAction } from '../audit/audit-log.ts';
import { audited, type AuditDetails } from './audited.ts';
import { parseByteSize } from './byte-size.ts';
import { wholeNumber, writeOut, writeWords } from './console.ts';
import { UserError } from './run-to-end.ts';
import { describeLimit, teamAsJson, writeTeams } from './show-teams.ts';
import { findTeam, withService } from './with-service.ts';

interface Flags {
  readonly json?: boolean;
}

/** As given by the flags. */
type Limit = number | 'unlimited';

interface PlanFlags extends Flags {
  readonly rows?: Limit;
  readonly uploadBytes?: Limit;
}

export function addPlanCommands(program: Command): void {
  const plans = program.command('plans').description('show and set the plans of teams; suspend and resume teams');
  const command = (name: string, description: string): Command => {
    return plans.command(name).description(description).argument('<team>', 'its ID or name').option('--json', 'write the result as JSON');
  };
  command('show', 'show the plan of a team, and what it uses of it').action(show);
  command('set', 'limit what a team may have; what is not named stays as it is')
    .option('--rows <n>', 'the most rows that its tables may show, or "unlimited"', rowsOf)
    .option('--upload-bytes <size>', 'the most bytes that its uploaded files may have (500MB, 10GiB), or "unlimited"', bytesOf)
    .action(set);
  command('suspend', 'answer 402 when a team reads or writes tables, and at the URLs of its files')
    .action((team: string, flags: Flags) => change('plan.suspend', team, flags, suspendTeam, () => 'is suspended'));
  command('resume', 'end the suspension of a team')
    .action((team: string, flags: Flags) => change('plan.resume', team, flags, resumeTeam, () => 'is not suspended'));
}

async function show(idOrName: string, flags: Flags): Promise<void> {
  const team = await withService((service) => findTeam(service, idOrName));
  if (flags.json) writeOut(JSON.stringify(teamAsJson(team)));
  else writeTeams([team]);
}

async function set(idOrName: string, { rows, uploadBytes, ...flags }: PlanFlags): Promise<void> {
  if (rows === undefined && uploadBytes === undefined) throw new UserError('Nothing says what to limit: give --rows, --upload-bytes or both.');
  const plan: Plan = {
    ...(rows === undefined ? {} : { rowsMax: limitOf(rows) }),
    ...(uploadBytes === undefined ? {} : { uploadBytesMax: limitOf(uploadBytes) }),
  };
  await change('plan.set', idOrName, flags, (teamId) => setPlan(teamId, plan), ({ rowsMax, uploadBytesMax }) => {
    return `may have ${describeLimit(rowsMax)} rows and ${describeLimit(uploadBytesMax)} bytes of files`;
  }, { ...plan });
}

async function change(
  action: AuditAction,
  idOrName: string,
  flags: Flags,
  eventFor: (teamId: string) => EventData & { readonly teamId: string },
  describe: (changed: TeamSummary) => string,
  details: AuditDetails = {},
): Promise<void> {
  const team = await audited(action, { team: idOrName, ...details }, (details) => withService(async (service) => {
    const { id } = await findTeam(service, idOrName);
    details['teamId'] = id;
    await recordFact(service.log, eventFor(id));
    return findTeam(service, id);
  }));
  if (flags.json) writeOut(JSON.stringify(teamAsJson(team)));
  else writeWords(`The team ${JSON.stringify(team.name)} ${describe(team)}.`);
}

function limitOf(limit: Limit): number | null {
  return limit === 'unlimited' ? null : limit;
}

function rowsOf(text: string): Limit {
  if (text === 'unlimited') return text;
  try {
    return wholeNumber(0)(text);
  } catch {
    throw new InvalidArgumentError('It must be a whole number, or "unlimited".');
  }
}

function bytesOf(text: string): Limit {
  if (text === 'unlimited') return text;
  const bytes = parseByteSize(text);
  if (bytes === null) throw new InvalidArgumentError('It must be a size like 1000000, 500MB or 10GiB, or "unlimited".');
  return bytes;
}
