/** The environment of a query process: only what it needs of that of the service, so that it has no secrets. */

/**
 * Where programs are, what the time and the language are, where Node keeps compiled code, and how TLS to Postgres is
 * checked.
 */
const passed = [
  'PATH',
  'HOME',
  'TMPDIR',
  'TZ',
  'LANG',
  'LC_ALL',
  'NODE_COMPILE_CACHE',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

/** What a DATABASE_URL may leave out (https://www.postgresql.org/docs/current/libpq-envars.html). */
const ofPostgres = ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGSSLMODE', 'PGSSLROOTCERT', 'PGSSLCERT', 'PGSSLKEY'];

/** Who connects to Postgres. A process with a role of its own is not told. */
const ofPostgresUser = ['PGUSER', 'PGPASSWORD', 'PGPASSFILE'];

/** `hasOwnRole`: whether the process connects to Postgres as a role of its own. */
export function processEnvironment(environment: NodeJS.ProcessEnv, hasOwnRole: boolean): NodeJS.ProcessEnv {
  const names = [...passed, ...ofPostgres, ...(hasOwnRole ? [] : ofPostgresUser)];
  return Object.fromEntries(
    names.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
}
