/**
 * A team that does what a seed says. It waits for the outcomes of some events, because later ones name rows that earlier ones
 * added; between that it appends hundreds at once.
 */
import { rowLimits } from '../../commands/limits.ts';
import type { PackedBody } from '../../src/events/event-codec.ts';
import type { EventData, RowSource } from '../../src/events/event.ts';
import { formatRowId } from '../../src/events/row-id.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import type { SchemaErrorMode } from '../../src/values/decide-schema.ts';
import { EventSender } from './event-sender.ts';
import { KnownTables } from './known-tables.ts';
import type { LogPlan } from './log-generator.ts';
import { Random } from './random.ts';
import { givenColumns, packRows, patchOf, pictureOf, rowsOf, sampleNames, type SampleRows } from './row-samples.ts';
import { RowsAhead } from './rows-ahead.ts';
import { UploadSteps } from './upload-steps.ts';

const modes: readonly SchemaErrorMode[] = ['abort', 'dropColumns', 'updateSchema'];
const limits = rowLimits(10_000_000);
const burstSteps = 250;

/** What is given to all teams, or to one of them. */
export interface TeamMaterial {
  readonly blocks: readonly SampleRows[];
  /** The names of its first files. */
  readonly files: readonly string[];
}

export class TeamActor {
  readonly #random: Random;
  readonly #blocks: readonly SampleRows[];
  readonly #teamId: string;
  readonly #tables: KnownTables;
  readonly #tokens: string[] = [];
  readonly #sender: EventSender;
  readonly #ahead: RowsAhead;
  readonly #uploads: UploadSteps;
  #usesUploads = false;
  #tokenSteps = 0;

  constructor(log: EventLog, seed: number, { blocks, files }: TeamMaterial) {
    const random = new Random(seed);
    const tables = new KnownTables(random);
    const teamId = random.uuid();
    const sender = new EventSender({ log, random, teamId, onOutcome: (outcome, tableId) => tables.learn(outcome, tableId) });
    this.#random = random;
    this.#blocks = blocks;
    this.#teamId = teamId;
    this.#tables = tables;
    this.#sender = sender;
    this.#ahead = new RowsAhead({ random, sender, teamId, blocks });
    this.#uploads = new UploadSteps({ random, sender, teamId, files });
  }

  get appended(): number {
    return this.#sender.appended;
  }

  async run(plan: LogPlan): Promise<void> {
    this.#sender.send({ type: 'TeamCreated', teamId: this.#teamId, name: `team ${this.#teamId.slice(0, 4)}` });
    this.#sender.send({ type: 'TeamCreated', teamId: this.#teamId, name: 'the same once more' });
    for (let table = 0; table < 3; table += 1) await this.#createTable();
    await this.#sender.settle();
    await this.#keepTwice();
    await this.#ahead.endStash();
    const bursts = Math.max(4, Math.ceil(plan.eventsOfTeam / burstSteps));
    for (let burst = 0; burst < bursts; burst += 1) {
      const blocks = Math.floor(((burst + 1) * plan.blocksOfTeam) / bursts) - Math.floor((burst * plan.blocksOfTeam) / bursts);
      // A look at an upload has its whole batch decided in a transaction: others are to be decided ahead.
      this.#usesUploads = burst === 0 || this.#random.chance(0.25);
      await this.#burst(Math.ceil(plan.eventsOfTeam / bursts), blocks);
      await this.#sender.settle();
    }
  }

  async #burst(steps: number, blocks: number): Promise<void> {
    const r = this.#random;
    const suspendedFrom = r.chance(0.25) ? r.below(steps) : -1;
    const plannedFrom = r.chance(0.25) ? r.below(steps) : -1;
    if (r.chance(0.5)) await this.#createTable();
    this.#sender.repeats = r.chance(0.25);
    for (let step = 0; step < steps; step += 1) {
      if (step === suspendedFrom) this.#sender.send({ type: 'TeamSuspended', teamId: this.#teamId });
      if (step === plannedFrom) this.#sender.send({ type: 'TeamPlanSet', teamId: this.#teamId, rowsMax: 1 });
      if (step === suspendedFrom + 15) this.#sender.send({ type: 'TeamResumed', teamId: this.#teamId });
      if (step === plannedFrom + 25) this.#sender.send({ type: 'TeamPlanSet', teamId: this.#teamId, rowsMax: null });
      await this.#step();
    }
    this.#sender.send({ type: 'TeamResumed', teamId: this.#teamId });
    this.#sender.send({ type: 'TeamPlanSet', teamId: this.#teamId, rowsMax: r.chance(0.5) ? null : 2 ** 40 });
    for (let left = blocks; left > 0; ) left -= r.chance(0.3) ? this.#sendBody(Math.min(left, 2 + r.below(3))) : this.#sendBlock();
  }

  async #step(): Promise<void> {
    const r = this.#random;
    const roll = r.next();
    if (this.#usesUploads && r.chance(0.25)) await this.#uploadStep();
    else if (roll < 0.55) await this.#patch();
    else if (roll < 0.7) this.#delete();
    else if (roll < 0.915) await this.#addFew();
    else if (roll < 0.92) await this.#overwrite();
    else if (roll < 0.93) await this.#createRefused();
    else if (roll < 0.94) this.#patchTable();
    else if (roll < 0.945) await this.#deleteTable();
    else if (roll < 0.95) this.#tokenStep();
    else if (roll < 0.955) this.#factOfNobody();
    else if (roll < 0.965) await this.#stashStep();
    else if (roll < 0.98) this.#sender.repeat();
    else this.#sendIncompleteBody();
  }

  #mode(): SchemaErrorMode {
    return this.#random.chance(0.05) ? 'updateSchema' : this.#random.pick(['abort', 'dropColumns']);
  }

  async #patch(): Promise<void> {
    const r = this.#random;
    const tableId = this.#tables.any();
    const kind = r.chance(0.1) ? 'nothing' : r.chance(0.5) ? 'plain' : r.pick(sampleNames);
    const { carried: { profile }, body } = await patchOf(r, kind);
    this.#sender.send(
      {
        type: 'RowPatchRequested', teamId: this.#teamId, tableId, row: this.#tables.rowOf(tableId), ifMatch: this.#tables.ifMatch(tableId),
        onSchemaError: this.#mode(), limits: r.chance(0.01) ? { ...limits, rowBytesMax: 5 } : limits, profile,
      },
      body,
    );
  }

  #patchTable(): void {
    const r = this.#random;
    const tableId = this.#tables.any();
    const columns = r.chance(0.4) ? [] : Array.from({ length: 1 + r.below(2) }, () => ({
      // Now and then one that no table has; two may be the same.
      id: r.chance(0.1) ? 'nobody' : r.pick(givenColumns).id, displayName: r.chance(0.3) ? null : `Shown ${r.below(3)}`,
    }));
    this.#sender.send({
      type: 'TablePatchRequested', teamId: this.#teamId, tableId, ifMatch: this.#tables.ifMatch(tableId),
      name: r.chance(0.5) ? null : `table ${r.below(100)}`, columns,
    });
  }

  /** Asks for the end of a table, and of it for more: what stands right behind its end, and what was on its way. */
  async #deleteTable(): Promise<void> {
    const r = this.#random;
    const tableId = this.#tables.any();
    this.#sender.send({ type: 'TableDeleteRequested', teamId: this.#teamId, tableId, ifMatch: this.#tables.ifMatch(tableId) });
    if (!this.#tables.end(tableId)) return;
    const { carried, body } = await rowsOf(r, 2, 'plain');
    this.#add(tableId, { kind: 'few', ...carried }, body);
    this.#sender.send({ type: 'RowDeleteRequested', teamId: this.#teamId, tableId, row: this.#tables.rowOf(tableId), ifMatch: null });
    if (r.chance(0.5)) this.#sender.send({ type: 'TableDeleteRequested', teamId: this.#teamId, tableId, ifMatch: null });
  }

  #delete(): void {
    const tableId = this.#tables.any();
    this.#sender.send({
      type: 'RowDeleteRequested', teamId: this.#teamId, tableId, row: this.#tables.rowOf(tableId), ifMatch: this.#tables.ifMatch(tableId),
    });
  }

  async #addFew(): Promise<void> {
    const r = this.#random;
    const tableId = this.#tables.any();
    const roll = r.next();
    if (roll < 0.05) return this.#add(tableId, { kind: 'none' });
    if (roll < 0.1) return this.#add(tableId, this.#ahead.stash());
    const { carried, body } = await rowsOf(r, 1 + r.below(5), r.chance(0.7) ? 'plain' : r.pick(sampleNames));
    this.#add(tableId, { kind: 'few', ...carried }, body);
  }

  #add(tableId: string, rows: RowSource, body?: PackedBody, onSchemaError = this.#mode()): void {
    const limit = this.#random.chance(0.01) ? { ...limits, rowsPerTableMax: 0 } : limits;
    this.#sender.send(
      {
        type: 'RowsAddRequested', teamId: this.#teamId, tableId, ifMatch: this.#tables.ifMatch(tableId), onSchemaError, limits: limit,
        rows,
      },
      body,
    );
  }

  /** Rows of before keep their IDs, now and then those of all generations, or twice, or ones that there never were. */
  async #overwrite(): Promise<void> {
    const r = this.#random;
    const tableId = this.#tables.any();
    const kept = this.#tables.hasRows(tableId) ? Array.from({ length: r.below(30) }, () => this.#tables.rowOf(tableId)) : [];
    const different = r.chance(0.9) ? [...new Map(kept.map((id) => [formatRowId(id), id])).values()] : kept;
    const { carried, body } = await rowsOf(r, 1 + r.below(40), 'plain', (row) => (r.chance(0.7) ? different[row] ?? null : null));
    const rows = r.pick<RowSource>([
      await this.#ahead.keepingStash({ carried, body }),
      { kind: 'none' }, { kind: 'few', ...carried }, { kind: 'block', ...carried, segmentId: r.uuid() },
      this.#ahead.keepingBody({ carried, body }),
    ]);
    this.#sender.send({
      type: 'TableOverwriteRequested', teamId: this.#teamId, tableId, ifMatch: this.#tables.ifMatch(tableId), limits,
      columns: r.chance(0.3) ? givenColumns : null, onSchemaError: r.pick(['dropColumns', 'updateSchema']), rows,
    }, body);
  }

  /** A row keeps its ID through an overwrite and through another, so that there are such IDs in generations that were replaced. */
  async #keepTwice(): Promise<void> {
    const tableId = this.#tables.pick();
    const kept = this.#tables.rowOf(tableId);
    for (let time = 0; time < 2; time += 1) {
      const { carried, body } = await rowsOf(this.#random, 3, 'plain', (row) => (row === 0 ? kept : null));
      this.#sender.send({
        type: 'TableOverwriteRequested', teamId: this.#teamId, tableId, ifMatch: null, limits, columns: null,
        onSchemaError: 'dropColumns', rows: { kind: 'few', ...carried },
      }, body);
    }
  }

  async #stashStep(): Promise<void> {
    const r = this.#random;
    const stash = await this.#ahead.changeStash();
    if (stash !== null && r.chance(0.7)) this.#add(this.#tables.pick(), stash, undefined, r.pick(modes));
  }

  /** A file that was completed is named now and then, before anybody looks or after that. */
  async #uploadStep(): Promise<void> {
    const file = this.#uploads.step();
    if (file === null || this.#random.chance(0.4)) return;
    const { carried, body } = await packRows([pictureOf(this.#random, file)]);
    const rows = this.#random.pick<RowSource>([{ kind: 'few', ...carried }, { kind: 'block', ...carried, segmentId: this.#random.uuid() }]);
    this.#add(this.#tables.pick(), rows, body, 'updateSchema');
  }

  #sendBlock(): number {
    const { carried, body } = this.#random.pick(this.#blocks);
    const rows = { kind: 'block', ...carried, segmentId: this.#random.uuid() } as const;
    // A refused block is of no use for the number of rows.
    this.#add(this.#tables.pick(), rows, body, this.#random.pick(['dropColumns', 'updateSchema']));
    return 1;
  }

  #sendBody(blocks: number): number {
    this.#add(this.#tables.pick(), this.#ahead.body(blocks), undefined, this.#random.pick(modes));
    return blocks;
  }

  #sendIncompleteBody(): void {
    this.#add(this.#tables.pick(), { kind: 'body', bodyId: this.#random.uuid(), blocks: 2 });
  }

  async #createTable(): Promise<void> {
    const r = this.#random;
    const { carried, body } = await rowsOf(r, 1 + r.below(40), r.pick(['plain', 'sparse', 'newColumn', 'numberAsName']));
    this.#create({
      columns: r.chance(0.6) ? givenColumns : null, rows: { kind: 'few', ...carried },
      appsToLink: r.chance(0.5) ? ['app one', 'äpp 🙂', 'app one'] : null, onSchemaError: r.pick(['dropColumns', 'updateSchema']),
    }, body);
  }

  async #createRefused(): Promise<void> {
    const r = this.#random;
    const { carried, body } = await rowsOf(r, 2, r.pick(sampleNames));
    const columns = r.pick([
      [...givenColumns, { id: 'name', type: 'number' } as const],
      [{ id: '$rowID', type: 'string' } as const],
      givenColumns,
    ]);
    this.#create({ columns, rows: { kind: 'few', ...carried }, appsToLink: null, onSchemaError: 'abort' }, body);
  }

  #create(
    given: Pick<Extract<EventData, { type: 'TableCreateRequested' }>, 'columns' | 'rows' | 'appsToLink' | 'onSchemaError'>,
    body: PackedBody,
  ): void {
    const tableId = this.#random.uuid();
    const name = `table ${this.#random.below(100)}`;
    this.#sender.send({ type: 'TableCreateRequested', teamId: this.#teamId, tableId, name, limits, ...given }, body);
  }

  #tokenStep(): void {
    const r = this.#random;
    const teamId = this.#teamId;
    this.#tokenSteps += 1;
    // Every other step, so that no log is without.
    if (this.#tokenSteps % 2 === 0) {
      this.#sender.send({ type: 'TokenRevoked', teamId: r.chance(0.2) ? r.uuid() : teamId, tokenId: r.pick(this.#tokens) });
      return;
    }
    const tokenId = r.uuid();
    const hash = (r.uuid() + r.uuid()).replaceAll('-', '');
    this.#sender.send({
      type: 'TokenCreated', teamId, tokenId, name: `token ${r.below(9)}`, hash, expiresAt: r.pick([null, 1_900_000_000_000]),
      readOnly: r.chance(0.5), appId: r.pick([null, 'app-1']),
    });
    this.#tokens.push(tokenId);
  }

  #factOfNobody(): void {
    const r = this.#random;
    const teamId = r.uuid();
    this.#sender.send(r.pick([
      { type: 'TeamSuspended', teamId },
      { type: 'TeamPlanSet', teamId, rowsMax: 3 },
      { type: 'TokenRevoked', teamId, tokenId: r.uuid() },
    ] as const));
  }
}
