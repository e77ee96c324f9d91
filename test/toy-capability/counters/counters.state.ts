/** The counters of a batch: as loaded, and as changed by the events decided so far. */
import { UndoMap, type UndoJournal } from '../../../src/log/batch/undo-journal.ts';

export interface TeamCounter {
  readonly teamId: string;
  readonly count: number;
}

export interface CounterChange {
  readonly kind: 'counter';
  readonly counter: TeamCounter;
}

export interface CounterStates {
  readonly counters: CountersState;
}

export class CountersState {
  readonly #known = new Map<string, TeamCounter>();
  readonly #changed: Map<string, TeamCounter>;

  constructor(journal: UndoJournal) {
    this.#changed = new UndoMap(journal);
  }

  find(teamId: string): TeamCounter | null {
    return this.#changed.get(teamId) ?? this.#known.get(teamId) ?? null;
  }

  /** 0 if the team has not counted yet. */
  count(teamId: string): number {
    return this.find(teamId)?.count ?? 0;
  }

  put(counter: TeamCounter): void {
    this.#known.set(counter.teamId, counter);
  }

  change(counter: TeamCounter): void {
    this.#changed.set(counter.teamId, counter);
  }

  changed(): TeamCounter[] {
    return [...this.#changed.values()];
  }
}
