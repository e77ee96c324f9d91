/** The owner of the token: a team or an operator. */
import { useQuery } from '@tanstack/react-query';
import type { Tablog, TokenDescription } from '../../../clients/typescript/src/index.ts';
import { isErrorOfType } from '../ui/describe-error.ts';
import { useSession } from './service.ts';

export type Who = { readonly kind: 'team'; readonly token: TokenDescription } | { readonly kind: 'operator' };

/** Throws TablogError if the service refuses the token. */
export async function askWho(tablog: Tablog): Promise<Who> {
  try {
    return { kind: 'team', token: await tablog.token() };
  } catch (error) {
    if (!isErrorOfType(error, 'forbidden')) throw error;
    await tablog.operator.partitions();
    return { kind: 'operator' };
  }
}

/** The owner of the token; undefined until the service has answered. */
export function useWho(): { readonly who: Who | undefined; readonly error: Error | null } {
  const { tablog } = useSession();
  const { data, error } = useQuery({ queryKey: ['who'], queryFn: () => askWho(tablog), staleTime: Infinity });
  return { who: data, error };
}

/** Whether the token may change tables. */
export function useCanWrite(): boolean {
  const { who } = useWho();
  return who?.kind === 'team' && !who.token.readOnly;
}
