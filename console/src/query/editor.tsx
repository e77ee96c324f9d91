import { autocompletion, completeFromList, completionKeymap, type Completion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { PostgreSQL, sql, SQLDialect } from '@codemirror/lang-sql';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef, type ReactElement } from 'react';
import { nonce } from '../ui/nonce.ts';
import { functions, keywords, types } from './sql-words.ts';

/** Names are case-sensitive, even without quotes. */
const dialect = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: keywords.join(' '),
  types: types.join(' '),
  builtin: '',
  caseInsensitiveIdentifiers: true,
});

const functionCompletions = functions.map((label): Completion => ({ label, type: 'function', boost: -1 }));

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: 'var(--literal)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
]);

interface EditorProps {
  readonly text: string;
  /** Names to complete: columns by table. */
  readonly schema: Readonly<Record<string, readonly string[]>>;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
}

/** An editor of SQL. The tab key leaves it like any other field. */
export function Editor({ text, schema, onChange, onRun }: EditorProps): ReactElement {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const language = useRef(new Compartment());
  const now = useRef({ onChange, onRun });
  now.current = { onChange, onRun };

  useEffect(() => {
    const run = (): boolean => {
      now.current.onRun();
      return true;
    };
    const editor = new EditorView({
      parent: parent.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(nonce),
          typeOver,
          history(),
          autocompletion(),
          syntaxHighlighting(colours),
          EditorView.lineWrapping,
          placeholder('SELECT … FROM …'),
          keymap.of([{ key: 'Mod-Enter', run }, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          language.current.of([]),
          EditorView.contentAttributes.of({ 'aria-label': 'SQL' }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) now.current.onChange(state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    const support = sql({ dialect, schema, upperCaseKeywords: true });
    // The editor completes columns only of tables that follow FROM, which people write last. So complete all columns
    // everywhere.
    const columns = [...new Set(Object.values(schema).flat())].map((label) => ({
      label,
      type: 'property',
      apply: quoted(label),
    }));
    view.current!.dispatch({
      effects: language.current.reconfigure([
        support,
        support.language.data.of({ autocomplete: completeFromList([...columns, ...functionCompletions]) }),
      ]),
    });
  }, [schema]);

  useEffect(() => {
    const editor = view.current!;
    if (editor.state.doc.toString() !== text)
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);

  return <div ref={parent} className="editor" />;
}

/**
 * Replaces selected text by script. Chromium would keep the style of that text in a `style` attribute, which the policy
 * of the page forbids.
 */
const typeOver = EditorView.domEventHandlers({
  beforeinput: (event, editor) => {
    if (
      event.inputType !== 'insertText' ||
      event.data === null ||
      editor.composing ||
      editor.state.selection.main.empty
    )
      return false;
    event.preventDefault();
    editor.dispatch(editor.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** A name in SQL, quoted if necessary. */
function quoted(name: string): string {
  return /^[a-z_]\w*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
