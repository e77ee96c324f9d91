import { useEffect, useId, useRef, type ReactElement } from 'react';
import { createPortal } from 'react-dom';
import { titleOf, type Column } from '../tables/column-types.ts';

/** A task that a person has chosen in the menu of a column. `add`: add a column after all others. */
export interface ColumnTask {
  readonly kind: 'add' | 'rename' | 'type' | 'remove';
  readonly column: Column;
}

const tasks: readonly (readonly [kind: ColumnTask['kind'], words: string])[] = [
  ['rename', 'Rename column'],
  ['type', 'Change type'],
  ['add', 'Add a column'],
  ['remove', 'Remove column'],
];

/** The menu in the head of a column. */
export function ColumnMenu({
  column,
  onTask,
}: {
  readonly column: Column;
  readonly onTask: (task: ColumnTask) => void;
}): ReactElement {
  const menu = useId();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // The grid would sort by the column, because it listens for clicks on the head.
    const stop = (event: Event): void => event.stopPropagation();
    const { current } = button;
    current!.addEventListener('click', stop);
    return () => current!.removeEventListener('click', stop);
  }, []);
  return (
    <>
      <button
        ref={button}
        type="button"
        className="quiet column-menu"
        popoverTarget={menu}
        aria-label={`Menu of the column ${titleOf(column)}`}
      >
        ⋮
      </button>
      {createPortal(
        <div id={menu} popover="auto" className="menu">
          {tasks.map(([kind, words]) => (
            <button key={kind} type="button" popoverTarget={menu} onClick={() => onTask({ kind, column })}>
              {words}
            </button>
          ))}
        </div>,
        document.body,
      )}
    </>
  );
}

/** If the head of a column has the focus, the keys that open menus open the menu of the column. */
export function opensMenu(event: KeyboardEvent): boolean {
  if (event.key !== 'ContextMenu' && !(event.key === 'ArrowDown' && event.altKey)) return false;
  (event.target as Element).querySelector<HTMLButtonElement>('button.column-menu')?.click();
  event.preventDefault();
  return true;
}
