/** Follows a document in one shell, as a reader would. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { limitMs } from '../time-limits.ts';
import { isCommand, type DocumentCommand, type DocumentStep } from './blocks.ts';

/** The output of a command, on stdout and stderr. */
interface Followed extends DocumentCommand {
  readonly printed: string;
  /** Whether a part of it ended with an exit code other than 0. */
  readonly hasFailed: boolean;
}

const endMark = 'END-OF-COMMAND';

/**
 * Runs the commands one after the other in one Bash, so that variables and functions last. If a command fails, the
 * others still run, because documents also show refusals.
 */
export async function follow(
  steps: readonly DocumentStep[],
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Followed[]> {
  for (const step of steps) if (!isCommand(step)) await writeFile(join(folder, step.name), step.text);
  const commands = steps.filter(isCommand);
  const script = commands.map((command) => `failed=0\n${command.script}\necho "${endMark} $failed"\n`).join('');
  const printed = await new Promise<string>((resolve, reject) => {
    const shell = execFile(
      'bash',
      ['-c', `exec 2>&1\ntrap 'failed=1' ERR\n${script}`],
      { cwd: folder, env: environment, maxBuffer: 16_000_000, timeout: limitMs(240_000) },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    );
    shell.stdin?.end();
  });
  const parts = printed.split(new RegExp(`${endMark} (\\d+)\n`));
  return commands.map((command, index) => ({
    ...command,
    printed: (parts[index * 2] ?? '').replace(/\n$/, ''),
    hasFailed: parts[index * 2 + 1] !== '0',
  }));
}

/** The text without parts that differ between runs: IDs, versions, times of day, durations and secrets. */
export function withoutChance(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/tablog_[A-Za-z0-9]+/g, '<token>')
    .replaceAll(/(?<![\w-])[\w-]{22}(?![\w-])/g, '<row>')
    .replaceAll(/\b(version|version is|not) "?\d+"?/g, '$1 <version>')
    .replaceAll(/^"\d+"$/gm, '"<version>"')
    .replaceAll(/"(version|\$version)":"\d+"/g, '"$1":"<version>"')
    .replaceAll(/("<id>":)"\d+"/g, '$1"<version>"')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z/g, '<time>')
    .replaceAll(/in \d+\.\d+ s \([\d,]+ rows\/s\)/g, 'in <duration>')
    .trimEnd();
}
