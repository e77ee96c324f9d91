import type { CustomCellRendererProps } from 'ag-grid-react';
import type { ReactElement } from 'react';
import { scalarOf, typesOnScreen } from '../tables/column-types.ts';
import type { ColumnType, ScalarKind } from '../../../src/language/values/column-type.ts';
import { linkOf, textOfCell } from './cell-text.ts';

/** A cell, shown by the type of its column: a picture, a link, a list. The type is a parameter of the renderer. */
export function Cell({ value, kind }: CustomCellRendererProps & { readonly kind: ColumnType }): ReactElement | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) {
    return (
      <span className="items">
        {value.map((each: unknown, index) => (
          <span key={index} className="item">
            <Scalar kind={scalarOf(kind)} text={textOfCell(each)} />
          </span>
        ))}
      </span>
    );
  }
  return <Scalar kind={scalarOf(kind)} text={textOfCell(value)} />;
}

/** A value, shown by its type. */
export function Scalar({ kind, text }: { readonly kind: ScalarKind; readonly text: string }): ReactElement {
  const link = linkOf(kind, text);
  const shown = show(kind, text, link);
  if (link === null) return shown;
  return (
    <a href={link} target="_blank" rel="noreferrer" {...(typesOnScreen[kind].shows === 'picture' && { title: text })}>
      {shown}
    </a>
  );
}

function show(kind: ScalarKind, text: string, link: string | null): ReactElement {
  switch (typesOnScreen[kind].shows) {
    case 'picture':
      if (link === null) return <>{text}</>;
      return <img src={link} alt={text} loading="lazy" referrerPolicy="no-referrer" />;
    case 'code':
      return <code>{text}</code>;
    case 'text':
      return <>{text}</>;
  }
}
