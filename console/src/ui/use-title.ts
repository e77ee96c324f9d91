import { useEffect } from 'react';

/** Names the window, so that one finds it among others. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} – Tablog`;
    return () => {
      document.title = 'Tablog';
    };
  }, [name]);
}
