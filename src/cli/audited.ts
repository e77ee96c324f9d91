/** Records commands that change something in the audit log. */
import { userInfo } from 'node:os';
import { readConfig } from '../app/config.ts';
import { openAuditLog, type AuditAction } from '../audit/audit-log.ts';
import { newLogger } from './console.ts';

/** What a line says of a command; a command adds what it finds out. */
export type AuditDetails = Record<string, unknown>;

/** Does the work, and writes a line that says who did it and whether it was done. If the line could not be written, nothing is done. */
export async function audited<T>(action: AuditAction, details: AuditDetails, work: (details: AuditDetails) => Promise<T>): Promise<T> {
  const audit = openAuditLog(readConfig().AUDIT_LOG_FILE, newLogger());
  let result = 'failed';
  try {
    const value = await work(details);
    result = 'done';
    return value;
  } finally {
    audit.write({ action, result, user: userName(), ...details });
    audit.close();
  }
}

/** The system's user. In a container the ID may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
