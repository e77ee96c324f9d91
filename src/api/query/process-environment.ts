/** The environment of a query process: only the variables that it needs, so that it gets no secrets of the service. */

/**
 * Variables for the paths of programs, the time zone and the locale, Node's compile cache, and the TLS certificates for
 * Postgres.
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

/** Defaults for parts that DATABASE_URL leaves out (https://www.postgresql.org/docs/current/libpq-envars.html). */
const ofPostgres = ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGSSLMODE', 'PGSSLROOTCERT', 'PGSSLCERT', 'PGSSLKEY'];

/** The user of Postgres and its password. A process with its own role does not get them. */
const ofPostgresUser = ['PGUSER', 'PGPASSWORD', 'PGPASSFILE'];

/** The part of `environment` to pass on. `hasOwnRole`: whether the process connects to Postgres with its own role. */
export function processEnvironment(environment: NodeJS.ProcessEnv, hasOwnRole: boolean): NodeJS.ProcessEnv {
  const names = [...passed, ...ofPostgres, ...(hasOwnRole ? [] : ofPostgresUser)];
  return Object.fromEntries(
    names.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
}
