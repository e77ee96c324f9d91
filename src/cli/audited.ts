/** Records commands that change something in the audit log. */
import { userInfo } from 'node:os';
import { readConfig } from '../app/config.ts';
import { openAuditLog, recordAction, type AuditAction, type AuditDetails } from '../administration/audit/audit-log.ts';
import { newLogger } from './console.ts';

/**
 * Does the work, and writes a line that says who did it and whether it was done. If the line could not be written,
 * nothing is done.
 */
export async function audited<T>(
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

/** The system's user. In a container the ID may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
