import type { ReactElement, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

interface ConfirmDialogProps {
  readonly title: string;
  /** What the button says that does it. */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What follows from it. */
  readonly children: ReactNode;
}

/** Asks before what cannot be undone, or what others would notice at once. */
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
