/** Opens the client for commands that use a running service. */
import type { Command } from 'commander';
import { Tablog } from '../../../clients/typescript/src/index.ts';
import { readClientSettings, type ClientFlags } from './client-settings.ts';
import { describeServerError } from './server-error.ts';

/** Minimum interval between messages about retries, in milliseconds, because many requests may fail for one reason. */
const sayIntervalMs = 5_000;

export function withClientOptions(command: Command): Command {
  return command
    .option('--url <url>', 'the URL of the service; default: TABLOG_URL, or "url" in the settings file')
    .option('--token <token>', 'an access token; default: TABLOG_TOKEN, or "token" in the settings file');
}

/** A client with the settings of the flags, the environment and the settings file. Throws UserError. */
export async function openClient(
  flags: ClientFlags,
  signal: AbortSignal,
  say: (words: string) => void,
): Promise<Tablog> {
  const { settings, warning } = await readClientSettings(flags);
  if (warning !== null) say(warning);
  let saidAt = -Infinity;
  const onRetry = (reason: Error): void => {
    const now = performance.now();
    if (now - saidAt < sayIntervalMs) return;
    saidAt = now;
    say(`Trying again: ${describeServerError(reason)}`);
  };
  // Wait without limit when a rate limit is used up: that is not a failure.
  return new Tablog({ ...settings, signal, onRetry, limitWaitMs: Infinity });
}
