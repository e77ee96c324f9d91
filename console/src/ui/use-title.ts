import { useEffect } from 'react';

/** Sets the window's title, so that people find it among others. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} – Tablog`;
    return () => {
      document.title = 'Tablog';
    };
  }, [name]);
}
