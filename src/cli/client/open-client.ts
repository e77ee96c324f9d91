/** What the commands that are clients of a running service have in common. */
import type { Command } from 'commander';
import { readClientSettings, type ClientFlags } from './client-settings.ts';
import { TablogClient } from './tablog-client.ts';

/** How often it is said that requests are sent again, in milliseconds: several may fail for one reason. */
const sayIntervalMs = 5_000;

export function withClientOptions(command: Command): Command {
  return command
    .option('--url <url>', 'where the service is; else TABLOG_URL, or "url" in the file with the settings')
    .option('--token <token>', 'an access token; else TABLOG_TOKEN, or "token" in that file');
}

/** A client by the flags, the environment and the file with the settings. Throws UserError. */
export async function openClient(flags: ClientFlags, signal: AbortSignal, say: (words: string) => void): Promise<TablogClient> {
  const { settings, warning } = await readClientSettings(flags);
  if (warning !== null) say(warning);
  let saidAt = -Infinity;
  const onRetry = (reason: string): void => {
    const now = performance.now();
    if (now - saidAt < sayIntervalMs) return;
    saidAt = now;
    say(`Trying again: ${reason}`);
  };
  return new TablogClient({ settings, signal, onRetry });
}
