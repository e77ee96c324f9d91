/**
 * A team that acts as a seed says. It waits for the outcomes of some events, because later ones name rows that earlier
 * ones added; in between it appends hundreds concurrently.
 */
import { rowLimits } from '../../commands/limits.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import type { SchemaErrorMode } from '../../src/language/values/decide-schema.ts';
import { EventSender } from './event-sender.ts';
import type { Generator, WeightedStep, TeamMaterial } from './generators/generator.ts';
import { generators } from './generators/generators.ts';
import { KnownTables } from './known-tables.ts';
import type { LogPlan } from './log-generator.ts';
import { Random } from '../support/random.ts';

const modes: readonly SchemaErrorMode[] = ['abort', 'dropColumns', 'updateSchema'];
const limits = rowLimits(10_000_000);
const burstSteps = 250;

export class TeamActor {
  readonly #team: TeamMaterial;
  readonly #sender: EventSender;
  readonly #generators: readonly Generator[];

  constructor(log: EventLog, seed: number, { blocks, files }: Pick<TeamMaterial, 'blocks' | 'files'>) {
    const random = new Random(seed);
    const tables = new KnownTables(random);
    const teamId = random.uuid();
    const sender = new EventSender({
      log,
      random,
      teamId,
      onOutcome: (outcome, tableId) => tables.learn(outcome, tableId),
    });
    const usualMode = (): SchemaErrorMode =>
      random.chance(0.05) ? 'updateSchema' : random.pick(['abort', 'dropColumns']);
    this.#sender = sender;
    this.#team = {
      teamId,
      random,
      sender,
      tables,
      blocks,
      files,
      addRows: (tableId, rows, body, onSchemaError = usualMode()) =>
        sender.send(
          {
            type: 'RowsAddRequested',
            teamId,
            tableId,
            ifMatch: tables.ifMatch(tableId),
            onSchemaError,
            limits: random.chance(0.01) ? { ...limits, rowsPerTableMax: 0 } : limits,
            ...(rows.kind === 'few' && random.chance(0.1) ? { mode: 'upsert' } : {}),
            rows,
          },
          body,
        ),
      sendBody: (parts) => {
        const bodyId = random.uuid();
        // Now and then a body from before they were opened, or one too many.
        if (!random.chance(0.1))
          sender.send({
            type: 'BodyOpenRequested',
            teamId,
            bodyId,
            limits: { openMax: random.chance(0.1) ? 0 : 1000 },
          });
        for (const [number, { carried, body }] of parts.entries()) {
          sender.send({ type: 'BlockReceived', teamId, bodyId, number, segmentId: random.uuid(), ...carried }, body);
        }
        return { kind: 'body', bodyId, blocks: parts.length };
      },
    };
    this.#generators = Object.values(generators).map((generatorOf) => generatorOf(this.#team));
  }

  get appended(): number {
    return this.#sender.appended;
  }

  async run(plan: LogPlan): Promise<void> {
    for (const generator of this.#generators) await generator.begin?.();
    const bursts = Math.max(4, Math.ceil(plan.eventsOfTeam / burstSteps));
    for (let burst = 0; burst < bursts; burst += 1) {
      const blocks =
        Math.floor(((burst + 1) * plan.blocksOfTeam) / bursts) - Math.floor((burst * plan.blocksOfTeam) / bursts);
      await this.#burst(Math.ceil(plan.eventsOfTeam / bursts));
      this.#sendBlocks(blocks);
      await this.#sender.settle();
    }
  }

  async #burst(steps: number): Promise<void> {
    const { random: r } = this.#team;
    for (const generator of this.#generators) await generator.beginBurst?.(steps);
    this.#sender.repeats = r.chance(0.25);
    const repeat: WeightedStep = [15, () => this.#sender.repeat()];
    const resumeAt = r.chance(0.3) ? r.below(steps) : null;
    const choices = [...this.#generators.flatMap((generator) => generator.steps), repeat];
    for (let step = 0; step < steps; step += 1) {
      for (const generator of this.#generators) generator.beforeStep?.(step);
      if (step === resumeAt) this.#sender.resume();
      await r.weighted(choices)();
    }
    for (const generator of this.#generators) generator.endBurst?.();
  }

  /** Sends `count` blocks, each alone or with others as a body. */
  #sendBlocks(count: number): void {
    const { random: r, tables, blocks, addRows, sendBody } = this.#team;
    for (let left = count; left > 0;) {
      const together = r.chance(0.3) ? Math.min(left, 2 + r.below(3)) : 1;
      left -= together;
      const parts = Array.from({ length: together }, () => r.pick(blocks));
      const [{ carried, body }] = parts as [(typeof parts)[number]];
      if (together > 1) addRows(tables.pick(), sendBody(parts), undefined, r.pick(modes));
      // Not `abort`: a refused block adds no rows, and the log needs them.
      else
        addRows(
          tables.pick(),
          { kind: 'block', ...carried, segmentId: r.uuid() },
          body,
          r.pick(['dropColumns', 'updateSchema']),
        );
    }
  }
}
