import { sleepUntil } from './server.ts';
import { runTablog } from './tablog.ts';

/**
 * Repeats a `restore` that was killed, until it succeeds. Postgres may take a moment to notice that the killed one is
 * gone.
 */
export async function untilRestored(args: readonly string[], place: Readonly<Record<string, string>>): Promise<void> {
  await sleepUntil(async () => {
    const { code, stderr } = await runTablog(args, place);
    // The killed command may have restored everything before it was killed.
    return code === 0 || stderr.includes('has data of Tablog already');
  }, 'it is restored');
}
