import { useEffect, useId, useRef, type ReactElement, type ReactNode } from 'react';
import { Problem } from './problem.tsx';

interface DialogProps {
  readonly title: string;
  /** Called when the dialog is closed in any way. */
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly className?: string;
  /** Whether the dialog stays open until its work is done. */
  readonly isBusy?: boolean;
}

/** A modal dialog of the browser, which keeps the focus and closes with Escape. */
export function Dialog({ title, onClose, children, className = '', isBusy = false }: DialogProps): ReactElement {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    // Not at once: the key press that opened the dialog would also press its first button.
    const timer = setTimeout(() => ref.current!.showModal());
    return () => clearTimeout(timer);
  }, []);
  return (
    <dialog
      ref={ref}
      className={className}
      aria-labelledby={titleId}
      onClose={onClose}
      onCancel={(event) => isBusy && event.preventDefault()}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <button
          type="button"
          className="quiet"
          aria-label="Close"
          disabled={isBusy}
          onClick={() => ref.current!.close()}
        >
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** The end of a form in a dialog: what went wrong, if anything did, and its buttons. */
export function FormEnd({
  problem,
  action,
  isDanger = false,
  isBusy = false,
  onCancel,
}: {
  readonly problem: string | null;
  /** The text of the button that sends the form. */
  readonly action: string;
  /** Whether something gets lost. */
  readonly isDanger?: boolean;
  readonly isBusy?: boolean;
  readonly onCancel: () => void;
}): ReactElement {
  return (
    <>
      {problem !== null && <Problem>{problem}</Problem>}
      <footer>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button className={isDanger ? 'danger' : 'primary'} disabled={isBusy}>
          {action}
        </button>
      </footer>
    </>
  );
}
