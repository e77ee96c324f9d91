import type { CustomCellRendererProps } from 'ag-grid-react';
import type { ReactElement } from 'react';
import { linkOf, textOfCell } from './cell-text.ts';

/** A cell, shown by the type of its column: a picture, a link, a list. The type is a parameter of the renderer. */
export function Cell({ value, kind }: CustomCellRendererProps & { readonly kind: string }): ReactElement | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) {
    const item = /^array<(.*)>$/.exec(kind)?.[1] ?? 'json';
    return (
      <span className="items">
        {value.map((each: unknown, index) => (
          <span key={index} className="item">
            <Scalar kind={item} text={textOfCell(each)} />
          </span>
        ))}
      </span>
    );
  }
  return <Scalar kind={kind} text={textOfCell(value)} />;
}

/** A value, shown by its type. */
export function Scalar({ kind, text }: { readonly kind: string; readonly text: string }): ReactElement {
  switch (kind) {
    case 'imageURI': {
      const link = linkOf(kind, text);
      if (link === null) return <>{text}</>;
      return (
        <a href={link} target="_blank" rel="noreferrer" title={text}>
          <img src={link} alt={text} loading="lazy" referrerPolicy="no-referrer" />
        </a>
      );
    }
    case 'uri':
    case 'audioURI':
    case 'emailAddress':
    case 'phoneNumber': {
      const link = linkOf(kind, text);
      return link === null ? (
        <>{text}</>
      ) : (
        <a href={link} target="_blank" rel="noreferrer">
          {text}
        </a>
      );
    }
    case 'json':
      return <code>{text}</code>;
    default:
      return <>{text}</>;
  }
}
