/** Records in the audit log each command that changes something. */
import { userInfo } from 'node:os';
import { readConfig } from '../app/config.ts';
import { openAuditLog, recordAction, type AuditAction, type AuditDetails } from '../administration/audit/audit-log.ts';
import { newLogger } from './console.ts';

/**
 * Opens the audit log, runs the work, and writes a line with the user and the result. If the audit log cannot be
 * opened, rejects with ConfigError and does no work.
 */
export async function auditedCommand<T>(
  action: AuditAction,
  details: AuditDetails,
  work: (details: AuditDetails) => Promise<T>,
): Promise<T> {
  const audit = openAuditLog(readConfig().AUDIT_LOG_FILE, newLogger());
  try {
    return await recordAction(audit, { action, who: { user: userName() }, details, nameOf: () => 'failed' }, work);
  } finally {
    audit.close();
  }
}

/** The name of the system's user, or the ID: in a container the ID may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
