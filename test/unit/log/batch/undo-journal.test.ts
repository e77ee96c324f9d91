import { expect, test } from '@jest/globals';
import { PairMap } from '../../../../src/log/batch/pair-map.ts';
import { UndoJournal, UndoMap, UndoSet } from '../../../../src/log/batch/undo-journal.ts';
import { fc } from '../../../support/property.ts';

type Change = readonly [container: 'map' | 'set' | 'list' | 'pairs', isDeletion: boolean, key: number, value: number];

const anyChange: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom('map', 'set', 'list', 'pairs'),
  fc.boolean(),
  fc.nat(3),
  fc.nat(9),
);

class Containers {
  readonly journal = new UndoJournal();
  readonly map = new UndoMap<number, number | undefined>(this.journal);
  readonly set = new UndoSet<number>(this.journal);
  readonly list: number[] = [];
  readonly pairs = new PairMap<number, number, number>(this.journal);

  change([container, isDeletion, key, value]: Change): void {
    switch (container) {
      case 'map':
        if (isDeletion) this.map.delete(key);
        else this.map.set(key, value === 0 ? undefined : value);
        break;
      case 'set':
        this.set.add(value);
        break;
      case 'list':
        this.journal.push(this.list, value);
        break;
      case 'pairs':
        if (isDeletion) this.pairs.delete(key, value);
        else this.pairs.set(key, value, key + value);
    }
  }

  shown(): unknown {
    return [new Map(this.map), new Set(this.set), [...this.list], this.pairs.values().toSorted((a, b) => a - b)];
  }
}

test('a value that is set often after a savepoint is recorded once, so the journal does not grow', () => {
  let notes = 0;
  class CountingJournal extends UndoJournal {
    override note(undo: () => void): void {
      notes += 1;
      super.note(undo);
    }
  }
  const journal = new CountingJournal();
  const map = new UndoMap<string, number>(journal);
  map.set('a', 0);
  for (const savepoint of [1, 2]) {
    journal.setSavepoint();
    for (let value = 1; value <= 1_000; value += 1) map.set('a', value);
    map.delete('a');
    expect(notes).toBe(savepoint);
    journal.rollBack();
    expect([...map]).toEqual([['a', 0]]);
  }
});

test('rolling back restores the state at the savepoint, and releasing keeps the later state', () => {
  fc.assert(
    fc.property(fc.array(anyChange), fc.array(anyChange), fc.array(anyChange), (before, undone, kept) => {
      const [containers, untouched] = [new Containers(), new Containers()];
      for (const change of before) for (const each of [containers, untouched]) each.change(change);
      containers.journal.setSavepoint();
      for (const change of undone) containers.change(change);
      containers.journal.rollBack();
      expect(containers.shown()).toEqual(untouched.shown());
      containers.journal.setSavepoint();
      for (const change of kept) for (const each of [containers, untouched]) each.change(change);
      containers.journal.release();
      containers.journal.rollBack();
      expect(containers.shown()).toEqual(untouched.shown());
    }),
  );
});

test('savepoints do not nest', () => {
  const journal = new UndoJournal();
  journal.setSavepoint();
  expect(() => journal.setSavepoint()).toThrow('a savepoint is already set');
});
