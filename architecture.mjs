/**
 * The rooms of the house, from top to bottom. A room imports only rooms below it, and `npm run layers` proves it;
 * imports of types count.
 */
import { builtinModules } from 'node:module';

const rooms = [
  ['src/main.ts', 'Starts the service, or the command line.'],
  ['src/cli/', 'The command line: as a client of a service, and for its operator.'],
  ['src/app/', 'Wiring: settings, the list of features, the start and the end of the service.'],
  [
    'src/operations/',
    'What an operator runs, and what runs in the background: backups, replays, maintenance, metrics.',
  ],
  ['src/api/', 'What a client reaches: HTTP, queries, use of quotas, jobs, traces.'],
  [
    'src/administration/',
    'Teams, plans, tokens, partitions, quarantines and moves of the log, and the audit log of all that.',
  ],
  ['projections/', 'What the log means: a model for each kind of state, and their list.'],
  ['commands/', 'What a client may ask: a file for each command, its input, and the event that it becomes.'],
  ['src/log/', 'Appends, orders and projects. It knows models by one interface.'],
  ['src/storage/', 'Postgres, uploaded files, keys and folders.'],
  ['src/language/', 'Events, values, and the formats of rows. Pure.'],
];

/** Inside a room: the order of its folders, from top to bottom, where it matters. */
const folders = [['src/language/formats/', 'src/language/events/', 'src/language/values/']];

/** All modules of Node but this one, by the names that dependency-cruiser gives them. */
const modulesOfNode = (except) =>
  `^(node:)?(${builtinModules.filter((name) => name !== except && !name.startsWith('_')).join('|')})$`;
const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const startingWith = (paths) => `^(${paths.map((path) => path.replaceAll('.', '\\.')).join('|')})`;

/** A rule for each place but the first: it imports nothing of what is above it. */
const inOrder = (paths) =>
  paths
    .slice(1)
    .map((path, above) =>
      rule(
        `${path.replaceAll('/', '-')}imports-only-what-is-below`,
        'Move what is shared down, or hand it in from above.',
        { path: startingWith([path]) },
        { path: startingWith(paths.slice(0, above + 1)) },
      ),
    );

/** What is pure: no I/O, no clock, no package. Who writes a decision sees by the name of its file that it must be. */
const decisions = '^projections/.*(/decide-[^/]*|\\.state)\\.ts$';
const impure = [
  '^src/(log/(kafka|postgres)|storage/(database|embedded|security))/',
  '\\.(store|queries|entity|model|garbage)\\.ts$',
];

/** What browsers load of the service: how rows are read, and which values fit. */
const sharedWithBrowsers = '^src/(?!language/)';

export default {
  forbidden: [
    rule('no-cycles', 'No file needs itself, however long the way.', {}, { circular: true }),
    ...inOrder(rooms.map(([path]) => path)),
    ...folders.flatMap(inOrder),
    rule(
      'src-has-rooms-only',
      'A file of `src` is in a room.',
      { path: '^src/', pathNot: startingWith(rooms.map(([path]) => path)) },
      {},
    ),
    rule(
      'endpoints-are-above-what-they-share',
      'An endpoint is in the folder of its noun. What endpoints of several nouns share knows none of them.',
      { path: '^src/api/http/(access|answers|bodies|limits|openapi|requests|submit)/' },
      { path: '^src/api/http/(?!(access|answers|bodies|limits|openapi|requests|server|submit)/)' },
    ),
    rule(
      'decisions-are-pure',
      'A decision reads the event and the states of models. All that it runs is as pure as it is.',
      { path: decisions },
      { path: [...impure, modulesOfNode('buffer'), '^node_modules/'], reachable: true },
    ),
    rule(
      'commands-are-pure',
      'A command makes an event of what a client asks for.',
      { path: '^commands/' },
      { path: ['^src/(log|storage)/', modulesOfNode('crypto')] },
    ),
    rule(
      'the-client-knows-no-service',
      'A package of its own, which runs without the service, in browsers too.',
      { path: '^clients/typescript/' },
      { path: ['^(src|commands|projections)/', modulesOfNode()] },
    ),
    rule(
      'file-import-runs-in-browsers',
      'It knows of the service its language, of Node its buffers, and is told the rest.',
      { path: '^clients/file-import/' },
      {
        path: [
          '^(commands|projections)/',
          sharedWithBrowsers,
          '^clients/(?!file-import/|typescript/src/)',
          modulesOfNode('buffer'),
          '^node_modules/(?!(@types/)?papaparse/|buffer/|@zip\\.js/|saxes/)',
        ],
      },
    ),
    rule(
      'the-console-is-a-client',
      'It knows the service by the client, and of its code what file-import knows.',
      { path: '^console/src/' },
      { path: ['^(commands|projections)/', sharedWithBrowsers, '^clients/command-line/', modulesOfNode()] },
    ),
    rule(
      'only-the-command-line-is-a-client',
      'The service asks itself nothing over HTTP.',
      { path: '^(src/(?!cli/)|commands/|projections/)' },
      { path: '^clients/' },
    ),
    rule(
      'traces-are-loaded-on-demand',
      'Who sends no traces loads nothing of their SDK.',
      { path: '^src/(?!api/tracing/)' },
      { path: ['^src/api/tracing/(?!(open-)?tracing\\.ts$)', '^node_modules/@opentelemetry/'] },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
