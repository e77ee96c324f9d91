/**
 * A history of concurrent calls by clients on one table, and a checker that finds violations in it. The checker is a
 * pure function, so tests can also give it histories that must never happen.
 *
 * Each write writes values that no other write of the history uses, so a value identifies its writer. At most one call
 * deletes a given row. A batch writes a row once.
 */

/** The outcome of a write. `changed`: refused because the row had changed after If-Match (412). */
export type WriteOutcome =
  | { readonly status: 'applied'; readonly version: bigint }
  | { readonly status: 'refused'; readonly changed: boolean }
  | { readonly status: 'unknown' };

export type Operation =
  | {
      readonly kind: 'read';
      readonly row: string;
      readonly seen: { readonly version: bigint; readonly value: string } | null;
    }
  | { readonly kind: 'head'; readonly version: bigint }
  /** One row per value; `rows` are the IDs in the same order, or empty unless the add is known to be applied. */
  | {
      readonly kind: 'add';
      readonly values: readonly string[];
      readonly rows: readonly string[];
      readonly outcome: WriteOutcome;
    }
  | {
      readonly kind: 'patch';
      readonly row: string;
      readonly value: string;
      readonly ifMatch: bigint | null;
      readonly outcome: WriteOutcome;
    }
  | { readonly kind: 'delete'; readonly row: string; readonly ifMatch: bigint | null; readonly outcome: WriteOutcome }
  | { readonly kind: 'batch'; readonly parts: readonly BatchPart[]; readonly outcome: WriteOutcome }
  /** Some rows as they were at one moment, in one answer. A row that is not there is left out. */
  | {
      readonly kind: 'look';
      readonly rows: readonly string[];
      readonly seen: readonly { readonly row: string; readonly value: string }[];
    };

/** An operation of a batch. The row of an addition is null unless the batch is known to be applied. */
export type BatchPart =
  | { readonly kind: 'add'; readonly row: string | null; readonly value: string }
  | { readonly kind: 'patch'; readonly row: string; readonly value: string }
  | { readonly kind: 'delete'; readonly row: string };

/** A call, with the places of its request and of its answer in the order of everything sent and received. */
export interface Call {
  readonly client: string;
  readonly invoked: number;
  /** Infinity if there was no answer: the call may take effect at any time. */
  readonly returned: number;
  readonly operation: Operation;
}

export interface History {
  readonly calls: readonly Call[];
  /** The rows of the table after all calls, in table order. */
  readonly final: readonly { readonly row: string; readonly value: string }[];
}

/** A write that took effect, or may have. */
interface Write {
  readonly call: Call;
  readonly kind: 'add' | 'patch' | 'delete';
  readonly ifMatch: bigint | null;
  /** The value that it leaves in the row; null: the row is gone. */
  readonly value: string | null;
  /** Null until it is known. */
  version: bigint | null;
}

/** All writes, indexed. */
interface Known {
  readonly calls: readonly Call[];
  /** By row ID. Adds without an answer are left out, because their row IDs are unknown. */
  readonly ofRow: ReadonlyMap<string, readonly Write[]>;
  readonly ofValue: ReadonlyMap<string, { readonly row: string | null; readonly write: Write }>;
}

/** Above all versions: the version of a row that is gone for good. */
const gone = 2n ** 64n;

/**
 * The violations in a history, one sentence each. Empty if a table that executes one write at a time could have given
 * these answers, with each write between its call and its answer (linearizability).
 */
export function findProblems(history: History): string[] {
  const known = collect(history.calls);
  const problems = checkReads(known);
  problems.push(
    ...checkVersions(known),
    ...checkPreconditions(known),
    ...checkRealTime(known),
    ...checkTableVersions(known),
    ...checkBatches(known, history.final),
    ...checkFinal(known, history.final),
  );
  return problems;
}

function collect(calls: readonly Call[]): Known {
  const ofRow = new Map<string, Write[]>();
  const ofValue = new Map<string, { row: string | null; write: Write }>();
  const addWrite = (row: string | null, write: Write): void => {
    const writes = row === null ? null : ofRow.get(row);
    if (writes) writes.push(write);
    else if (row !== null) ofRow.set(row, [write]);
    if (write.value === null) return;
    if (ofValue.has(write.value)) throw new Error(`two calls write ${write.value}`);
    ofValue.set(write.value, { row, write });
  };
  for (const call of calls) {
    const { operation } = call;
    if (!('outcome' in operation) || operation.outcome.status === 'refused') continue;
    const { outcome } = operation;
    const version = outcome.status === 'applied' ? outcome.version : null;
    if (operation.kind === 'batch') {
      for (const part of operation.parts) {
        const value = part.kind === 'delete' ? null : part.value;
        addWrite(part.row, { call, kind: part.kind, ifMatch: null, value, version });
      }
    } else if (operation.kind === 'add') {
      operation.values.forEach((value, at) => {
        addWrite(operation.rows[at] ?? null, { call, kind: 'add', ifMatch: null, value, version });
      });
    } else {
      const value = operation.kind === 'patch' ? operation.value : null;
      addWrite(operation.row, { call, kind: operation.kind, ifMatch: operation.ifMatch, value, version });
    }
  }
  return { calls, ofRow, ofValue };
}

/**
 * Checks that each value read was written with the version shown. Learns the versions of writes without an answer from
 * reads.
 */
function checkReads({ calls, ofRow, ofValue }: Known): string[] {
  const problems: string[] = [];
  for (const call of calls) {
    if (call.operation.kind !== 'read') continue;
    const { row, seen } = call.operation;
    if (seen === null) {
      const deleted = ofRow
        .get(row)
        ?.some(({ kind, call: { invoked } }) => kind === 'delete' && invoked < call.returned);
      if (!deleted) problems.push(`${nameOf(call)} found no row, which nobody had deleted`);
      continue;
    }
    const written = ofValue.get(seen.value);
    if (written === undefined || written.row !== row || written.write.call.invoked > call.returned) {
      problems.push(`${nameOf(call)} shows the value ${seen.value}, which nobody had written there`);
      continue;
    }
    learn(written.write, seen.version, ofRow);
    if (written.write.version === seen.version) continue;
    problems.push(`${nameOf(call)} shows version ${seen.version} of what was written with ${written.write.version}`);
  }
  return problems;
}

/** The version of a write that had no answer, and so of all of its batch. */
function learn(write: Write, version: bigint, ofRow: Known['ofRow']): void {
  if (write.version !== null) return;
  write.version = version;
  const { operation } = write.call;
  if (operation.kind !== 'batch') return;
  for (const { row } of operation.parts)
    for (const other of (row !== null && ofRow.get(row)) || [])
      if (other.call === write.call) other.version ??= version;
}

/** Checks that no two writes have the same version. */
function checkVersions({ ofRow }: Known): string[] {
  const problems: string[] = [];
  const winners = new Map<bigint, Write>();
  for (const write of [...ofRow.values()].flat()) {
    if (write.version === null) continue;
    const winner = winners.get(write.version);
    if (winner === undefined) winners.set(write.version, write);
    else if (winner.call !== write.call) {
      problems.push(`${nameOf(winner.call)} and ${nameOf(write.call)} both have version ${write.version}`);
    }
  }
  return problems;
}

/**
 * Checks that a write with If-Match n directly follows version n among the writes of its row. Checks that if a write
 * was refused because of its If-Match, another write came before it.
 */
function checkPreconditions({ calls, ofRow }: Known): string[] {
  const problems: string[] = [];
  for (const writes of ofRow.values()) {
    const end = writes.find(({ kind }) => kind === 'delete')?.version ?? gone;
    for (const { call, version, ifMatch } of writes) {
      if (version !== null && version > end) problems.push(`${nameOf(call)} took effect on a row that was gone`);
      if (ifMatch === null || version === null) continue;
      const lost = writes.find((other) => other.version !== null && other.version > ifMatch && other.version < version);
      if (lost) problems.push(`${nameOf(call)} has lost the update with version ${lost.version}`);
      if (version <= ifMatch) problems.push(`${nameOf(call)} has a version that is not above its If-Match`);
    }
  }
  for (const call of calls) {
    const { operation } = call;
    if (operation.kind !== 'patch' && operation.kind !== 'delete') continue;
    const { row, ifMatch, outcome } = operation;
    if (outcome.status !== 'refused' || !outcome.changed) continue;
    const overtaken =
      ifMatch !== null &&
      ofRow.get(row)?.some((write) => {
        return (write.version === null || write.version > ifMatch) && write.call.invoked < call.returned;
      });
    if (!overtaken) problems.push(`${nameOf(call)} was refused, but nothing had changed`);
  }
  return problems;
}

/** A version that a call shows. All calls that begin after its answer must take it into account. */
interface Sighting {
  readonly call: Call;
  readonly version: bigint;
  /** Whether it must be higher than everything known before, not just as high. */
  readonly fresh: boolean;
  /** Whether the call shows the newest version, not just an existing one. */
  readonly newest: boolean;
}

/** Checks that the versions of each row, and of the table, only rise in real time. */
function checkRealTime({ calls, ofRow }: Known): string[] {
  const table: Sighting[] = [];
  const rows = new Map<string, Sighting[]>();
  const see = (row: string, sighting: Sighting): void => {
    const sightings = rows.get(row);
    if (sightings) sightings.push(sighting);
    else rows.set(row, [sighting]);
  };
  for (const call of calls) {
    const { operation } = call;
    if (operation.kind === 'look') continue;
    if (operation.kind === 'head') {
      table.push({ call, version: operation.version, fresh: false, newest: true });
    } else if (operation.kind === 'read') {
      const version = operation.seen?.version ?? gone;
      see(operation.row, { call, version, fresh: false, newest: true });
      if (version !== gone) table.push({ call, version, fresh: false, newest: false });
    } else if (operation.outcome.status === 'applied') {
      const sighting = { call, version: operation.outcome.version, fresh: true, newest: true };
      table.push(sighting);
      if (operation.kind === 'batch') {
        for (const { kind, row } of operation.parts)
          if (row !== null) see(row, kind === 'delete' ? { ...sighting, version: gone } : sighting);
      } else if (operation.kind === 'add') for (const row of operation.rows) see(row, sighting);
      else see(operation.row, operation.kind === 'delete' ? { ...sighting, version: gone } : sighting);
    }
  }
  return [
    ...findFalls('the table', table),
    ...[...rows].flatMap(([row, sightings]) => (ofRow.has(row) ? findFalls(`row ${row}`, sightings) : [])),
  ];
}

function findFalls(what: string, sightings: readonly Sighting[]): string[] {
  const problems: string[] = [];
  const answers = sightings.toSorted((a, b) => a.call.returned - b.call.returned);
  let highest: Sighting | null = null;
  let answered = 0;
  for (const sighting of sightings.toSorted((a, b) => a.call.invoked - b.call.invoked)) {
    for (; answered < answers.length && answers[answered]!.call.returned < sighting.call.invoked; answered += 1) {
      const answer = answers[answered]!;
      if (highest === null || answer.version > highest.version) highest = answer;
    }
    if (highest === null || !sighting.newest) continue;
    if (sighting.fresh ? sighting.version > highest.version : sighting.version >= highest.version) continue;
    problems.push(
      `${nameOf(sighting.call)} shows an old version of ${what}: ${nameOf(highest.call)} was answered before`,
    );
  }
  return problems;
}

/** If the versions of all writes are known, checks that each version shown by HEAD belongs to a write. */
function checkTableVersions({ calls, ofValue, ofRow }: Known): string[] {
  const writes = [...ofRow.values()].flat();
  const versions = new Set(writes.map(({ version }) => version));
  const untold = [...writes, ...[...ofValue.values()].map(({ write }) => write)].filter(
    ({ version }) => version === null,
  );
  const firstUntold = untold.reduce((first, { call }) => Math.min(first, call.invoked), Infinity);
  return calls
    .filter(
      ({ operation, returned }) =>
        operation.kind === 'head' && !versions.has(operation.version) && returned < firstUntold,
    )
    .map((call) => `${nameOf(call)} shows a version that no write has`);
}

/** Checks that nobody saw a part of a batch: in each look, and in the end. */
function checkBatches(known: Known, final: History['final']): string[] {
  const rows = new Set([...known.ofRow.keys(), ...final.map(({ row }) => row)]);
  const looks = known.calls.flatMap((call) => {
    const { operation } = call;
    return operation.kind === 'look'
      ? [{ where: nameOf(call), rows: new Set(operation.rows), seen: operation.seen, isWhole: false }]
      : [];
  });
  return [...looks, { where: 'the end', rows, seen: final, isWhole: true }].flatMap((look) => findTorn(known, look));
}

/** A moment: the rows that were read, and those of them that existed. `isWhole`: they are all rows of the table. */
interface Look {
  readonly where: string;
  readonly rows: ReadonlySet<string>;
  readonly seen: History['final'];
  readonly isWhole: boolean;
}

/** The batches of which a look shows a part only. */
function findTorn({ ofRow, ofValue }: Known, { where, rows, seen, isWhole }: Look): string[] {
  const shown = new Map(seen.map(({ row, value }) => [row, value]));
  const values = new Set(shown.values());
  const problems: string[] = [];
  for (const { row, value } of seen) {
    const write = ofValue.get(value)?.write;
    if (write === undefined) {
      problems.push(`${where} shows the value ${value} in row ${row}, which nobody had written there`);
      continue;
    }
    const { operation } = write.call;
    if (operation.kind !== 'batch') continue;
    for (const part of operation.parts) {
      const torn = part.row === null ? isWhole && part.kind === 'add' && !values.has(part.value) : isMissing(part.row);
      if (torn) problems.push(`${where} shows a part of ${nameOf(write.call)}`);
    }

    /** Whether the look shows this row of the batch as it was before. */
    function isMissing(other: string): boolean {
      if (!rows.has(other)) return false;
      const left = shown.get(other);
      const writes = ofRow.get(other) ?? [];
      if (left === undefined) return !writes.some(({ kind }) => kind === 'delete');
      const last = ofValue.get(left)?.write;
      if (last === undefined || last.call === write!.call) return false;
      // Two batches wrote both rows: one of them was the later one, in both.
      const both = ofRow.get(row)?.some(({ call }) => call === last.call) ?? false;
      return both || (last.version !== null && write!.version !== null && last.version < write!.version);
    }
  }
  return problems;
}

/**
 * Checks the final rows: they are exactly the results of the last writes, each row once. An add without an answer left
 * all of its rows or none.
 */
function checkFinal({ calls, ofRow, ofValue }: Known, final: History['final']): string[] {
  const problems: string[] = [];
  const left = new Map(final.map(({ row, value }) => [row, value]));
  if (left.size < final.length) problems.push('a row is there twice in the end');
  for (const [row, writes] of ofRow) problems.push(...checkRow(row, writes, left.get(row) ?? null));

  const leftValues = new Map(final.map(({ value }, at) => [value, at]));
  if (leftValues.size < final.length) problems.push('a value is there twice in the end');
  for (const { row, value } of final) {
    if (ofRow.has(row)) continue;
    const written = ofValue.get(value);
    if (written === undefined || written.row !== null)
      problems.push(`in the end ${row} is ${value}, which nobody wrote there`);
  }
  for (const call of calls) {
    const { operation } = call;
    if (operation.kind !== 'add' || operation.outcome.status !== 'unknown') continue;
    const places = operation.values.map((value) => leftValues.get(value) ?? -1);
    const first = places[0] ?? -1;
    const whole = places.every((place, at) => place === (first === -1 ? -1 : first + at));
    if (!whole) problems.push(`in the end a part of ${nameOf(call)} is there, or not in its order`);
  }
  return problems;
}

function checkRow(row: string, writes: readonly Write[], value: string | null): string[] {
  // A deletion is final, whatever versions other writes have.
  const end = writes.find(({ kind, version }) => kind === 'delete' && version !== null);
  const last = end ?? writes.reduce((a, b) => ((b.version ?? -1n) > (a.version ?? -1n) ? b : a));
  if (last.value === value) return [];
  const possible = end === undefined && writes.some((write) => write.version === null && write.value === value);
  return possible
    ? []
    : [`in the end row ${row} is ${value ?? 'gone'}, but ${nameOf(last.call)} was the last to write it`];
}

function nameOf({ client, invoked, operation }: Call): string {
  const row = 'row' in operation ? ` of row ${operation.row}` : '';
  return `${client}'s ${operation.kind}${row} (call ${invoked})`;
}
