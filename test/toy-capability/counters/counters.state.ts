/** The counters of a batch: as loaded, and as changed by the events decided so far. */
import { UndoMap, type UndoJournal } from '../../../src/log/batch/undo-journal.ts';

export interface Counter {
  readonly teamId: string;
  readonly count: number;
}

export interface CounterChange {
  readonly kind: 'counter';
  readonly counter: Counter;
}

export interface CounterStates {
  readonly counters: CountersState;
}

export class CountersState {
  readonly #known = new Map<string, Counter>();
  readonly #changed: Map<string, Counter>;

  constructor(journal: UndoJournal) {
    this.#changed = new UndoMap(journal);
  }

  find(teamId: string): Counter | null {
    return this.#changed.get(teamId) ?? this.#known.get(teamId) ?? null;
  }

  /** 0 if the team has not counted yet. */
  count(teamId: string): number {
    return this.find(teamId)?.count ?? 0;
  }

  put(counter: Counter): void {
    this.#known.set(counter.teamId, counter);
  }

  change(counter: Counter): void {
    this.#changed.set(counter.teamId, counter);
  }

  changed(): Counter[] {
    return [...this.#changed.values()];
  }
}
