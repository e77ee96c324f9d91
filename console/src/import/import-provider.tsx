import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactElement,
  type ReactNode,
} from 'react';
import { useLocation } from 'wouter';
import { useCanWrite } from '../session/who.ts';
import { useNotices } from '../ui/notices.tsx';
import { ImportDialog } from './import-dialog.tsx';

interface Imports {
  /** Whether the token may write. */
  readonly canImport: boolean;
  /** Lets the person choose a file, then imports it. */
  readonly choose: () => void;
}

const ImportsContext = createContext<Imports>({ canImport: false, choose: () => undefined });

export function useImports(): Imports {
  return useContext(ImportsContext);
}

const endings =
  '.csv,.tsv,.tab,.json,.ndjson,.jsonl,.xlsx,.xlsm,.txt,.gz,text/csv,text/tab-separated-values,application/json';

/** Imports files that are chosen, dropped on any page, or pasted into the list of tables. */
export function ImportProvider({ children }: { readonly children: ReactNode }): ReactElement {
  const notices = useNotices();
  const [place] = useLocation();
  const chooser = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<File | null>(null);
  const [isOver, setOver] = useState(false);
  const canImport = useCanWrite();
  const choose = useCallback(() => chooser.current!.click(), []);
  const imports = useMemo(() => ({ canImport, choose }), [canImport, choose]);
  const isList = place === '/';
  const isFree = canImport && file === null;

  useEffect(() => {
    const listening = new AbortController();
    const { signal } = listening;
    const holdsFile = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true;
    addEventListener(
      'dragover',
      (event) => {
        if (!holdsFile(event)) return;
        // Otherwise the browser would leave the page and show the file.
        event.preventDefault();
        const isWanted = isFree && !isDialogOpen();
        event.dataTransfer!.dropEffect = isWanted ? 'copy' : 'none';
        setOver(isWanted);
      },
      { signal },
    );
    addEventListener(
      'dragleave',
      (event) => {
        if (event.relatedTarget === null) setOver(false);
      },
      { signal },
    );
    addEventListener(
      'drop',
      (event) => {
        if (!holdsFile(event)) return;
        event.preventDefault();
        setOver(false);
        if (!isFree || isDialogOpen()) return;
        const [first, ...others] = event.dataTransfer!.files;
        setFile(first ?? null);
        if (others.length > 0) notices.say('Import one file at a time. The other files were ignored.');
      },
      { signal },
    );
    addEventListener(
      'paste',
      (event) => {
        if (!isFree || !isList || isDialogOpen() || isEditable(event.target)) return;
        const pasted = pastedFile(event.clipboardData);
        if (pasted === null) return;
        event.preventDefault();
        setFile(pasted);
      },
      { signal },
    );
    return () => listening.abort();
  }, [isFree, isList, notices]);

  return (
    <ImportsContext value={imports}>
      {children}
      <input
        ref={chooser}
        type="file"
        hidden
        accept={endings}
        aria-label="File to import"
        onChange={(event) => {
          setFile(event.target.files![0] ?? null);
          // So that the same file can be chosen again.
          event.target.value = '';
        }}
      />
      {isOver && (
        <div className="drop-here">
          <p>Drop the file to import its rows</p>
        </div>
      )}
      {file !== null && (
        <ImportDialog
          file={file}
          tableID={/^\/tables\/([^/]+)/.exec(place)?.[1] ?? null}
          onClose={() => setFile(null)}
        />
      )}
    </ImportsContext>
  );
}

function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

function isEditable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}

/** The pasted file, or a file of the pasted text. Spreadsheets paste cells with tabs between them. */
function pastedFile(pasted: DataTransfer | null): File | null {
  const file = pasted?.files[0];
  if (file !== undefined) return file;
  const text = pasted?.getData('text/plain') ?? '';
  if (text.trim() === '') return null;
  return new File([text], `Pasted rows.${formatOfText(text)}`);
}

function formatOfText(text: string): string {
  const begin = text.trimStart();
  if (begin.startsWith('[')) return 'json';
  // A single object is a row, unless it contains the rows.
  if (begin.startsWith('{')) return isOneWithRows(begin) ? 'json' : 'ndjson';
  return begin.split('\n', 1)[0]!.includes('\t') ? 'tsv' : 'csv';
}

/** Whether a text is one JSON object with a member that is an array of objects. */
function isOneWithRows(text: string): boolean {
  try {
    return Object.values(JSON.parse(text) as object).some(
      (member) =>
        Array.isArray(member) && typeof member[0] === 'object' && member[0] !== null && !Array.isArray(member[0]),
    );
  } catch {
    // The text is several objects, or broken. Reading it as lines will say where.
    return false;
  }
}
