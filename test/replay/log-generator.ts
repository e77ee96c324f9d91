/**
 * Fills a log with what a seed says: every kind of event, refusals of every kind, repeated and late events, over several
 * teams that write at the same time. The teams wait for the outcomes of some events, because later ones name rows that
 * earlier ones added; between that they append hundreds at once.
 */
import { rowLimits } from '../../commands/limits.ts';
import { encodeEvent, type PackedBody } from '../../src/events/event-codec.ts';
import type { CarriedRows, EventData, RowSource } from '../../src/events/event.ts';
import { formatRowId } from '../../src/events/row-id.ts';
import { NotAppended, type EncodedEvent, type EventLog } from '../../src/log/event-log.ts';
import { partitionOf } from '../../src/log/partition.ts';
import type { SchemaErrorMode } from '../../src/schema/decide-schema.ts';
import { KnownTables } from './known-tables.ts';
import { Random } from './random.ts';
import { givenColumns, patchOf, rowsOf, sampleNames, type SampleRows } from './row-samples.ts';

export interface LogPlan {
  readonly seed: number;
  readonly teams: number;
  /** About how many events each team appends, blocks not counted. */
  readonly eventsOfTeam: number;
  /** How many blocks of rows each team appends, and the rows of each. */
  readonly blocksOfTeam: number;
  readonly rowsOfBlock: number;
}

const modes: readonly SchemaErrorMode[] = ['abort', 'dropColumns', 'updateSchema'];
const limits = rowLimits(10_000_000);
const burstSteps = 250;
const hour = 3_600_000;

/** Resolves with the number of events that were appended. */
export async function generateLog(log: EventLog, plan: LogPlan): Promise<number> {
  const random = new Random(plan.seed);
  const blocks = await Promise.all(
    [...sampleNames, 'plain', 'plain', 'plain', 'plain'].map((name) => rowsOf(random, plan.rowsOfBlock, name as 'plain')),
  );
  const teams = Array.from({ length: plan.teams }, () => new TeamActor(log, random.below(2 ** 32), blocks));
  await Promise.all(teams.map((team) => team.run(plan)));
  return teams.reduce((sum, team) => sum + team.appended, 0);
}

class TeamActor {
  appended = 0;
  readonly #log: EventLog;
  readonly #random: Random;
  readonly #blocks: readonly SampleRows[];
  readonly #teamId: string;
  readonly #tables: KnownTables;
  readonly #tokens: string[] = [];
  #repeats = false;
  #sent: Promise<void>[] = [];
  #recent: EncodedEvent[] = [];

  constructor(log: EventLog, seed: number, blocks: readonly SampleRows[]) {
    this.#log = log;
    this.#random = new Random(seed);
    this.#tables = new KnownTables(this.#random);
    this.#blocks = blocks;
    this.#teamId = this.#random.uuid();
  }

  async run(plan: LogPlan): Promise<void> {
    this.#send({ type: 'TeamCreated', teamId: this.#teamId, name: `team ${this.#teamId.slice(0, 4)}` });
    this.#send({ type: 'TeamCreated', teamId: this.#teamId, name: 'the same once more' });
    for (let table = 0; table < 3; table += 1) await this.#createTable();
    await this.#settle();
    await this.#keepTwice();
    const bursts = Math.max(4, Math.ceil(plan.eventsOfTeam / burstSteps));
    for (let burst = 0; burst < bursts; burst += 1) {
      const blocks = Math.floor(((burst + 1) * plan.blocksOfTeam) / bursts) - Math.floor((burst * plan.blocksOfTeam) / bursts);
      await this.#burst(Math.ceil(plan.eventsOfTeam / bursts), blocks);
      await this.#settle();
    }
  }

  async #burst(steps: number, blocks: number): Promise<void> {
    const r = this.#random;
    const suspendedFrom = r.chance(0.25) ? r.below(steps) : -1;
    const plannedFrom = r.chance(0.25) ? r.below(steps) : -1;
    if (r.chance(0.5)) await this.#createTable();
    this.#repeats = r.chance(0.25);
    for (let step = 0; step < steps; step += 1) {
      if (step === suspendedFrom) this.#send({ type: 'TeamSuspended', teamId: this.#teamId });
      if (step === plannedFrom) this.#send({ type: 'TeamPlanSet', teamId: this.#teamId, rowsMax: 1 });
      if (step === suspendedFrom + 15) this.#send({ type: 'TeamResumed', teamId: this.#teamId });
      if (step === plannedFrom + 25) this.#send({ type: 'TeamPlanSet', teamId: this.#teamId, rowsMax: null });
      await this.#step();
    }
    this.#send({ type: 'TeamResumed', teamId: this.#teamId });
    this.#send({ type: 'TeamPlanSet', teamId: this.#teamId, rowsMax: r.chance(0.5) ? null : 2 ** 40 });
    for (let left = blocks; left > 0; ) left -= r.chance(0.3) ? this.#sendBody(Math.min(left, 2 + r.below(3))) : this.#sendBlock();
  }

  async #step(): Promise<void> {
    const r = this.#random;
    const roll = r.next();
    if (roll < 0.55) await this.#patch();
    else if (roll < 0.7) this.#delete();
    else if (roll < 0.915) await this.#addFew();
    else if (roll < 0.92) await this.#overwrite();
    else if (roll < 0.93) await this.#createRefused();
    else if (roll < 0.94) this.#patchTable();
    else if (roll < 0.945) await this.#deleteTable();
    else if (roll < 0.95) this.#tokenStep();
    else if (roll < 0.955) this.#factOfNobody();
    else if (roll < 0.965) await this.#stashStep();
    else if (roll < 0.98) this.#repeat();
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
    this.#send(
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
    this.#send({
      type: 'TablePatchRequested', teamId: this.#teamId, tableId, ifMatch: this.#tables.ifMatch(tableId),
      name: r.chance(0.5) ? null : `table ${r.below(100)}`, columns,
    });
  }

  /** Asks for the end of a table, and of it for more: what stands right behind its end, and what was on its way. */
  async #deleteTable(): Promise<void> {
    const r = this.#random;
    const tableId = this.#tables.any();
    this.#send({ type: 'TableDeleteRequested', teamId: this.#teamId, tableId, ifMatch: this.#tables.ifMatch(tableId) });
    if (!this.#tables.end(tableId)) return;
    const { carried, body } = await rowsOf(r, 2, 'plain');
    this.#add(tableId, { kind: 'few', ...carried }, body);
    this.#send({ type: 'RowDeleteRequested', teamId: this.#teamId, tableId, row: this.#tables.rowOf(tableId), ifMatch: null });
    if (r.chance(0.5)) this.#send({ type: 'TableDeleteRequested', teamId: this.#teamId, tableId, ifMatch: null });
  }

  #delete(): void {
    const tableId = this.#tables.any();
    this.#send({
      type: 'RowDeleteRequested', teamId: this.#teamId, tableId, row: this.#tables.rowOf(tableId), ifMatch: this.#tables.ifMatch(tableId),
    });
  }

  async #addFew(): Promise<void> {
    const r = this.#random;
    const tableId = this.#tables.any();
    const roll = r.next();
    if (roll < 0.05) return this.#add(tableId, { kind: 'none' });
    if (roll < 0.1) return this.#add(tableId, { kind: 'stash', stashId: this.#stashId() });
    const { carried, body } = await rowsOf(r, 1 + r.below(5), r.chance(0.7) ? 'plain' : r.pick(sampleNames));
    this.#add(tableId, { kind: 'few', ...carried }, body);
  }

  #add(tableId: string, rows: RowSource, body?: PackedBody, onSchemaError = this.#mode()): void {
    const limit = this.#random.chance(0.01) ? { ...limits, rowsPerTableMax: 0 } : limits;
    this.#send(
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
      await this.#sendKeepingStash(carried, body),
      { kind: 'none' }, { kind: 'few', ...carried }, { kind: 'block', ...carried, segmentId: r.uuid() },
      this.#sendKeepingBody(carried, body),
    ]);
    this.#send({
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
      this.#send({
        type: 'TableOverwriteRequested', teamId: this.#teamId, tableId, ifMatch: null, limits, columns: null,
        onSchemaError: 'dropColumns', rows: { kind: 'few', ...carried },
      }, body);
    }
  }

  /** A body of these rows between blocks that come with no IDs. */
  #sendKeepingBody(carried: CarriedRows, body: PackedBody): RowSource {
    const r = this.#random;
    const bodyId = r.uuid();
    const blocks = [r.pick(this.#blocks), { carried, body }, r.pick(this.#blocks)];
    for (const [number, block] of blocks.entries()) {
      const segmentId = r.uuid();
      this.#send({ type: 'BlockReceived', teamId: this.#teamId, bodyId, number, segmentId, ...block.carried }, block.body);
    }
    return { kind: 'body', bodyId, blocks: blocks.length };
  }

  /** Few, so that they are met again. */
  #stashId(): string {
    return `stash${this.#random.below(4)}`;
  }

  /** Mostly a chunk: in order or not, one more time, or the first of a stash that has ended. */
  async #stashStep(): Promise<void> {
    const r = this.#random;
    const stashId = this.#stashId();
    const roll = r.next();
    if (roll < 0.1) this.#send({ type: 'StashDeleteRequested', teamId: this.#teamId, stashId });
    else if (roll < 0.2) this.#send({ type: 'StashExpired', teamId: this.#teamId, stashId, created: BigInt(r.below(1000)) });
    else {
      for (let chunks = 1 + r.below(5); chunks > 0; chunks -= 1) await this.#putChunk(stashId);
      if (r.chance(0.7)) this.#add(this.#tables.pick(), { kind: 'stash', stashId }, undefined, r.pick(modes));
    }
  }

  async #putChunk(stashId: string, given?: SampleRows): Promise<void> {
    const r = this.#random;
    const { carried, body } = given ?? (await rowsOf(r, 1 + r.below(5), r.chance(0.7) ? 'plain' : r.pick(sampleNames)));
    const bodyId = r.uuid();
    const rows = r.pick([
      { kind: 'none' }, { kind: 'block', ...carried, segmentId: r.uuid() }, { kind: 'block', ...carried, segmentId: r.uuid() },
      { kind: 'body', bodyId, blocks: 2 },
    ] as const);
    if (rows.kind === 'body') this.#sendBlocks(bodyId, 2);
    const serial = r.chance(0.1) ? r.pick(['a', '-x', 'B_1']) : r.pick(['1', '2', '007', '7', '10', '9']);
    // Now and then its time is over before anything can come of it.
    const limits = { lifeMs: r.chance(0.1) ? 0 : hour, chunksMax: r.chance(0.02) ? 0 : 1000, rowsMax: 1e6, profiledColumnsMax: 1e6 };
    this.#send({ type: 'ChunkPutRequested', teamId: this.#teamId, stashId, serial, limits, rows }, body);
  }

  /** A stash that holds these rows, which keep their IDs, beside others. */
  async #sendKeepingStash(carried: CarriedRows, body: PackedBody): Promise<RowSource> {
    const stashId = this.#stashId();
    await this.#putChunk(stashId, { carried, body });
    return { kind: 'stash', stashId };
  }

  #sendBlock(): number {
    const { carried, body } = this.#random.pick(this.#blocks);
    const rows = { kind: 'block', ...carried, segmentId: this.#random.uuid() } as const;
    // A refused block is of no use for the number of rows.
    this.#add(this.#tables.pick(), rows, body, this.#random.pick(['dropColumns', 'updateSchema']));
    return 1;
  }

  #sendBody(blocks: number): number {
    const bodyId = this.#random.uuid();
    this.#sendBlocks(bodyId, blocks);
    this.#add(this.#tables.pick(), { kind: 'body', bodyId, blocks }, undefined, this.#random.pick(modes));
    return blocks;
  }

  #sendBlocks(bodyId: string, blocks: number): void {
    for (let number = 0; number < blocks; number += 1) {
      const { carried, body } = this.#random.pick(this.#blocks);
      this.#send({ type: 'BlockReceived', teamId: this.#teamId, bodyId, number, segmentId: this.#random.uuid(), ...carried }, body);
    }
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
    this.#send({ type: 'TableCreateRequested', teamId: this.#teamId, tableId, name, limits, ...given }, body);
  }

  #tokenStep(): void {
    const r = this.#random;
    const teamId = this.#teamId;
    if (this.#tokens.length > 0 && r.chance(0.4)) {
      this.#send({ type: 'TokenRevoked', teamId: r.chance(0.2) ? r.uuid() : teamId, tokenId: r.pick(this.#tokens) });
      return;
    }
    const tokenId = r.uuid();
    const hash = (r.uuid() + r.uuid()).replaceAll('-', '');
    this.#send({ type: 'TokenCreated', teamId, tokenId, name: `token ${r.below(9)}`, hash });
    this.#tokens.push(tokenId);
  }

  #factOfNobody(): void {
    const r = this.#random;
    const teamId = r.uuid();
    this.#send(r.pick([
      { type: 'TeamSuspended', teamId },
      { type: 'TeamPlanSet', teamId, rowsMax: 3 },
      { type: 'TokenRevoked', teamId, tokenId: r.uuid() },
    ] as const));
  }

  /** An event is appended once more; or another one under its command's ID. */
  #repeat(): void {
    if (!this.#repeats || this.#recent.length === 0) return;
    const again = this.#random.pick(this.#recent);
    this.#append(again);
    if (this.#random.chance(0.5)) return;
    const envelope = { commandId: again.commandId, notAfter: null, requestDigest: null };
    this.#append(encodeEvent(envelope, { type: 'TeamResumed', teamId: this.#teamId }));
  }

  #send(data: EventData & { readonly teamId: string }, body?: PackedBody): void {
    const r = this.#random;
    const isRequest = data.type.endsWith('Requested');
    const envelope = {
      commandId: r.uuid(),
      notAfter: !isRequest ? null : r.chance(0.01) ? 1 : this.#log.now() + hour,
      requestDigest: r.chance(0.1) ? `digest ${r.below(1e6)}` : null,
    };
    const event = encodeEvent(envelope, data, body);
    if (r.chance(0.1)) this.#recent = [...this.#recent.slice(-30), event];
    this.#append(event, 'tableId' in data ? data.tableId : undefined);
  }

  #append(event: EncodedEvent, tableId?: string): void {
    this.appended += 1;
    const appended = this.#log.append(partitionOf(this.#teamId, this.#log.partitions), event).then(
      (outcome) => {
        if (tableId !== undefined) this.#tables.learn(outcome, tableId);
      },
      (error: unknown) => {
        // It was late: it stands in the log and has no outcome.
        if (!(error instanceof NotAppended && error.message.includes('waited too long'))) throw error;
      },
    );
    this.#sent.push(appended);
  }

  async #settle(): Promise<void> {
    const sent = this.#sent;
    this.#sent = [];
    await Promise.all(sent);
  }
}
