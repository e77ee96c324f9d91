/** A table whose clients record their calls: each call with its place, and its result. */
import type { Answer, Client, Send } from '../support/client.ts';
import { outcomeOf } from '../support/client.ts';
import type { BatchPart, Call, History, Operation, WriteOutcome } from '../support/history.ts';

/** A requested table. No two have the same name. */
export interface Creation {
  readonly name: string;
  readonly values: readonly string[];
  /** The IDs of its rows, in the order of their values; empty unless the table is known to be created. */
  readonly rows: readonly string[];
  /** The version of its creation; null unless it is known to be created. */
  readonly version: bigint | null;
  readonly outcome: WriteOutcome['status'];
}

/** The results of the calls of all clients, in one order. */
export class Recorder {
  readonly calls: Call[] = [];
  readonly creations: Creation[] = [];
  /** Answers that the interface does not allow here. */
  readonly unexpected: string[] = [];
  #place = 0;
  #acknowledgedCalls = 0;

  /** How many writes were acknowledged. */
  get acknowledged(): number {
    return this.#acknowledgedCalls + this.creations.filter(({ outcome }) => outcome === 'applied').length;
  }

  /** The place of the last call or answer. */
  get place(): number {
    return this.#place;
  }

  /** Records the places of a call and its answer. If `act` returns null, nothing is recorded. */
  async record<T extends Operation>(client: string, act: () => Promise<T | null>): Promise<T | null> {
    const invoked = this.#nextPlace();
    const operation = await act();
    if (operation === null) return null;
    const status = 'outcome' in operation ? operation.outcome.status : null;
    if (status === 'applied') this.#acknowledgedCalls += 1;
    this.calls.push({ client, invoked, returned: status === 'unknown' ? Infinity : this.#nextPlace(), operation });
    return operation;
  }

  #nextPlace(): number {
    this.#place += 1;
    return this.#place;
  }
}

/** Answers that mean that nothing happened. */
const refusals: ReadonlySet<string> = new Set([
  '404 row_not_found',
  '422 column_has_invalid_value',
  '503 service_unavailable',
]);

type AddOptions = { readonly padding?: string; readonly extra?: Readonly<Record<string, unknown>> };

export const recordedColumns = [
  { id: 'value', type: 'string' },
  { id: 'padding', type: 'string' },
  { id: 'size', type: 'number' },
];

/** One client's view of a table with the columns above. */
export class RecordedTable {
  readonly name: string;
  readonly tableId: string;
  readonly #client: Client;
  readonly #recorder: Recorder;
  #values = 0;

  constructor(name: string, client: Client, tableId: string, recorder: Recorder) {
    this.name = name;
    this.tableId = tableId;
    this.#client = client;
    this.#recorder = recorder;
  }

  /** Values that no other call gives a row. */
  newValues(count: number): string[] {
    return Array.from({ length: count }, () => `${this.name}.${(this.#values += 1)}`);
  }

  /** The row's version; null if there is no row, or no answer. */
  async read(row: string): Promise<bigint | null> {
    const operation = await this.#recorder.record(this.name, async () => {
      const answer = await this.#send(`/${row}`);
      if (answer?.status === 200) {
        return { kind: 'read', row, seen: { version: answer.version!, value: answer.json.data.value } } as const;
      }
      return answer !== null && outcomeOf(answer) === '404 row_not_found'
        ? ({ kind: 'read', row, seen: null } as const)
        : null;
    });
    return operation?.seen?.version ?? null;
  }

  async head(): Promise<void> {
    await this.#recorder.record(this.name, async () => {
      const answer = await this.#send('', { method: 'HEAD' });
      return answer?.status === 200 ? ({ kind: 'head', version: answer.version! } as const) : null;
    });
  }

  async patch(row: string, ifMatch: bigint | null): Promise<WriteOutcome> {
    const [value] = this.newValues(1);
    const operation = await this.#recorder.record(this.name, async () => {
      const answer = await this.#send(`/${row}`, { method: 'PATCH', body: { value }, headers: headersOf(ifMatch) });
      return { kind: 'patch', row, value: value!, ifMatch, outcome: this.#outcome(answer) } as const;
    });
    return operation!.outcome;
  }

  async delete(row: string, ifMatch: bigint | null): Promise<void> {
    await this.#recorder.record(this.name, async () => {
      const answer = await this.#send(`/${row}`, { method: 'DELETE', headers: headersOf(ifMatch) });
      return { kind: 'delete', row, ifMatch, outcome: this.#outcome(answer) } as const;
    });
  }

  /**
   * The IDs of the added rows; empty if they were not added, or that is unknown. `extra` are columns of the last row.
   */
  async add(count: number, { padding, extra = {} }: AddOptions = {}): Promise<readonly string[]> {
    const values = this.newValues(count);
    const operation = await this.#recorder.record(this.name, async () => {
      const body = values.map((value, at) => ({ value, padding, ...(at === count - 1 ? extra : {}) }));
      const answer = await this.#send('', { method: 'POST', body });
      const rows: string[] = answer?.status === 201 ? answer.json.data.rowIDs : [];
      return { kind: 'add', values, rows, outcome: this.#outcome(answer) } as const;
    });
    return operation!.rows;
  }

  /**
   * Patches rows and adds one in a batch. If `refused`, the batch is refused in its middle. Resolves to the ID of the
   * added row; null unless the row is known to be there.
   */
  async batch(rows: readonly string[], refused = false): Promise<string | null> {
    const [added, ...values] = this.newValues(rows.length + 1);
    const operation = await this.#recorder.record(this.name, async () => {
      const patches = rows.map((rowID, at) => ({ op: 'patch', rowID, row: { value: values[at] } }));
      const unknown = { op: 'patch', rowID: rows[0], row: { value: added, size: 'not a number' } };
      const operations = [...patches.slice(0, 1), { op: 'add', row: { value: added } }, ...patches.slice(1)];
      const answer = await this.#ask(`/tables/${this.tableId}/batch`, {
        method: 'POST',
        body: { operations: refused ? [...operations.slice(0, 2), unknown] : operations },
      });
      const row: string | null = answer?.status === 200 ? answer.json.data.rowIDs[1] : null;
      const parts: BatchPart[] = [
        { kind: 'add', row, value: added! },
        ...rows.map((patched, at) => ({ kind: 'patch', row: patched, value: values[at]! }) as const),
      ];
      return { kind: 'batch', parts, outcome: this.#outcome(answer) } as const;
    });
    return operation!.parts[0]!.row;
  }

  /** Reads some rows at one moment. */
  async look(rows: readonly string[]): Promise<void> {
    await this.#recorder.record(this.name, async () => {
      const filter = encodeURIComponent(JSON.stringify({ column: '$rowID', op: 'in', value: rows }));
      const answer = await this.#send(`?filter=${filter}`);
      if (answer?.status !== 200) return null;
      const { data } = answer.json as { readonly data: readonly { $rowID: string; value: string }[] };
      return { kind: 'look', rows, seen: data.map(({ $rowID: row, value }) => ({ row, value })) } as const;
    });
  }

  /** Creates another table. */
  async create(count: number, padding?: string): Promise<void> {
    const values = this.newValues(count);
    const body = {
      name: `made with ${values[0]}`,
      schema: { columns: recordedColumns },
      rows: values.map((value) => ({ value, padding })),
    };
    const answer = await this.#ask('/tables', { method: 'POST', body });
    const outcome = this.#outcome(answer);
    this.#recorder.creations.push({
      name: body.name,
      values,
      rows: outcome.status === 'applied' ? answer!.json.data.rowIDs : [],
      version: outcome.status === 'applied' ? outcome.version : null,
      outcome: outcome.status,
    });
  }

  #send(path: string, options: Send = {}): Promise<Answer | null> {
    return this.#ask(`/tables/${this.tableId}/rows${path}`, options);
  }

  /** Null if the connection broke before the answer. */
  async #ask(path: string, options: Send): Promise<Answer | null> {
    try {
      return await this.#client.send(path, options);
    } catch (error) {
      // The error that fetch throws when a connection breaks. Its class is not the one of this file's realm.
      if ((error as Error).name === 'TypeError') return null;
      throw error;
    }
  }

  #outcome(answer: Answer | null): WriteOutcome {
    if (answer === null) return { status: 'unknown' };
    const outcome = outcomeOf(answer);
    if (outcome === '200' || outcome === '201') return { status: 'applied', version: answer.version! };
    if (outcome === '412 precondition_failed') return { status: 'refused', changed: true };
    if (refusals.has(outcome)) return { status: 'refused', changed: false };
    if (outcome !== '503 outcome_unknown') this.#recorder.unexpected.push(`${outcome}: ${answer.text}`);
    return { status: 'unknown' };
  }
}

function headersOf(ifMatch: bigint | null): Record<string, string> {
  return ifMatch === null ? {} : { 'if-match': `"${ifMatch}"` };
}

/** A new table of `count` rows, and the recorder of everything that is done to it. */
export async function createRecordedTable(
  client: Client,
  count: number,
): Promise<{ readonly tableId: string; readonly rows: readonly string[]; readonly recorder: Recorder }> {
  const answer = await client.post('/tables', { name: 'recorded', schema: { columns: recordedColumns }, rows: [] });
  if (answer.status !== 201) throw new Error(answer.text);
  const tableId: string = answer.json.data.tableID;
  const recorder = new Recorder();
  const rows = await new RecordedTable('first', client, tableId, recorder).add(count);
  return { tableId, rows, recorder };
}

/** The history of a table once nobody writes any more. The contended rows are read a last time. */
export async function historyOf(
  recorder: Recorder,
  client: Client,
  tableId: string,
  rows: readonly string[],
): Promise<History> {
  const last = new RecordedTable('last', client, tableId, recorder);
  for (const row of rows) await last.read(row);
  await last.head();
  const left = await client.rows(tableId);
  return {
    calls: recorder.calls,
    final: left.map(({ $rowID, value }) => ({ row: $rowID as string, value: value as string })),
  };
}

/** The problems with the created tables, one sentence each. */
export async function findCreationProblems({ creations }: Recorder, client: Client): Promise<string[]> {
  const problems: string[] = [];
  const { data } = (await client.get('/tables')).json as { data: { id: string; name: string }[] };
  const made = Map.groupBy(data, ({ name }) => name);
  for (const { name, values, outcome } of creations) {
    const tables = made.get(name) ?? [];
    const [fewest, most] = { applied: [1, 1], refused: [0, 0], unknown: [0, 1] }[outcome];
    if (tables.length < fewest! || tables.length > most!)
      problems.push(`the table ${name} (${outcome}) is there ${tables.length} times`);
    for (const { id } of tables) {
      const left = (await client.rows(id)).map(({ value }) => value);
      if (left.join() !== values.join())
        problems.push(`the table ${name} has ${left.length} rows, not its ${values.length}`);
    }
  }
  return problems;
}
