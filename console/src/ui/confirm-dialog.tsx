import type { ReactElement, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

interface ConfirmDialogProps {
  readonly title: string;
  /** The label of the button that confirms. */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** The consequences. */
  readonly children: ReactNode;
}

/** Asks before an action that cannot be undone or that others would notice at once. */
export function ConfirmDialog({ title, action, onConfirm, onClose, children }: ConfirmDialogProps): ReactElement {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <footer>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" onClick={onConfirm}>
          {action}
        </button>
      </footer>
    </Dialog>
  );
}
