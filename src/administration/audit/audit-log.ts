/**
 * The audit log records administration, refused tokens and withdrawn files (docs/reference/audit-log.md). Each record
 * is a line of JSON, in a file that several processes may share, or in the log of the process.
 */
import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import type { Logger } from 'pino';
import { ConfigError } from '../../storage/config-error.ts';

/** An action that somebody performed or attempted. */
export type AuditAction =
  | 'team.create'
  | 'plan.set'
  | 'plan.suspend'
  | 'plan.resume'
  | 'token.create'
  | 'token.revoke'
  | 'token.refused'
  | 'key.rotate'
  | 'key.remove'
  | 'log.resume'
  | 'log.move'
  | 'quarantine.release'
  | 'readmodel.replay'
  | 'file.withdraw'
  | 'backup.take'
  | 'backup.remove'
  | 'backup.restore';

/** A line without its time. It contains no token, only token IDs. */
export interface AuditEntry {
  readonly action: AuditAction;
  /** `done`, or the reason why not: an error type of the interface, or `failed`. */
  readonly result: string;
  readonly teamId?: string;
  readonly tokenId?: string;
  /** The address of the connection, for requests. */
  readonly address?: string | undefined;
  /** `X-Forwarded-For` of the request. The client or a proxy wrote it, so it proves nothing. */
  readonly forwardedFor?: string | undefined;
  /** Further members, which depend on the action. */
  readonly [detail: string]: unknown;
}

export interface AuditLog {
  /** Writes the line before it returns. Never throws: if it cannot write the line, it logs an error with the entry. */
  write(entry: AuditEntry): void;
  close(): void;
}

/** Further members of an action's line. The work adds the ones that it finds out. */
export type AuditDetails = Record<string, unknown>;

interface Action {
  readonly action: AuditAction;
  /** Members that identify who performs the action. */
  readonly who: object;
  readonly details: AuditDetails;
  /** The `result` of the line for an error of the work. */
  readonly nameOf: (error: unknown) => string;
}

/** Runs the work and writes a line with its result. Settles as the work does. */
export async function recordAction<T>(
  audit: AuditLog,
  { action, who, details, nameOf }: Action,
  work: (details: AuditDetails) => Promise<T>,
): Promise<T> {
  let result = 'done';
  try {
    return await work(details);
  } catch (error) {
    result = nameOf(error);
    throw error;
  } finally {
    audit.write({ action, result, ...who, ...details });
  }
}

/** `file`: undefined for the log of the process. Throws ConfigError if the file cannot be opened. */
export function openAuditLog(file: string | undefined, logger: Pick<Logger, 'info' | 'error'>): AuditLog {
  if (file === undefined) return { write: (entry) => logger.info({ audit: entry }, 'audit'), close: () => undefined };
  try {
    return new AuditFile(file, logger);
  } catch (error) {
    throw new ConfigError([`AUDIT_LOG_FILE: ${(error as Error).message}`], { cause: error });
  }
}

/**
 * Writes each line with one `write` and O_APPEND, so that lines of several processes do not mix. A pino destination
 * cannot be used: when the disk is full, it holds lines back without saying which, and flushing it never ends.
 */
class AuditFile implements AuditLog {
  readonly #path: string;
  readonly #logger: Pick<Logger, 'error'>;
  #fd: number;

  constructor(path: string, logger: Pick<Logger, 'error'>) {
    this.#path = path;
    this.#logger = logger;
    this.#fd = this.#open();
  }

  write(entry: AuditEntry): void {
    const line = Buffer.from(`${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`);
    try {
      this.#followRotation();
      if (writeSync(this.#fd, line) < line.length) throw new Error('only a part of the line was written');
    } catch (err) {
      this.#logger.error({ err, audit: entry }, 'AUDIT_LOG_FILE: a line cannot be written');
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** After a rotation the path names another file, or none. */
  #followRotation(): void {
    const named = statSync(this.#path, { throwIfNoEntry: false });
    const opened = fstatSync(this.#fd);
    if (named?.ino === opened.ino && named.dev === opened.dev) return;
    const next = this.#open();
    closeSync(this.#fd);
    this.#fd = next;
  }

  #open(): number {
    return openSync(this.#path, 'a', 0o600);
  }
}
