import {
  createContext,
  useCallback,
  useContext,
  useMemo,
  useRef,
  useState,
  type ReactElement,
  type ReactNode,
} from 'react';
import { describeError } from './describe-error.ts';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
}

interface Notices {
  readonly say: (text: string) => void;
  /** Shows an error until the person closes it. */
  readonly fail: (error: unknown) => void;
}

const NoticesContext = createContext<Notices>({ say: () => undefined, fail: () => undefined });

export function useNotices(): Notices {
  return useContext(NoticesContext);
}

const shownMs = 6000;
const shownMax = 4;

/** Shows short messages above the page. Screen readers announce them. */
export function NoticesProvider({ children }: { readonly children: ReactNode }): ReactElement {
  const [shown, setShown] = useState<readonly Notice[]>([]);
  const last = useRef(0);
  const remove = useCallback((id: number) => setShown((all) => all.filter((notice) => notice.id !== id)), []);
  const add = useCallback(
    (text: string, isProblem: boolean) => {
      last.current += 1;
      const id = last.current;
      setShown((all) => [...all.filter((notice) => notice.text !== text), { id, text, isProblem }].slice(-shownMax));
      if (!isProblem) setTimeout(() => remove(id), shownMs);
    },
    [remove],
  );
  const notices = useMemo(
    () => ({ say: (text: string) => add(text, false), fail: (error: unknown) => add(describeError(error), true) }),
    [add],
  );
  return (
    <NoticesContext value={notices}>
      {children}
      <div className="notices" role="status" aria-live="polite">
        {shown.map(({ id, text, isProblem }) => (
          <p key={id} className={isProblem ? 'notice problem' : 'notice'}>
            <span>{text}</span>
            <button type="button" className="quiet" aria-label="Dismiss" onClick={() => remove(id)}>
              ✕
            </button>
          </p>
        ))}
      </div>
    </NoticesContext>
  );
}
