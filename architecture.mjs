/**
 * The architecture as rules, which `npm run layers` checks; imports of types count. Read from top to bottom:
 *
 *   src/http  →  commands  →  src/events  ←  src/log          a request becomes an event, which the log orders
 *                                  ↑             ↑
 *                             each model  ←  projections/engine     the engine drives models that it knows by their interface only
 *                                  ↓
 *                        its queries  →  src/http             and what became of it is read
 *
 * src/app and src/cli wire all of it. clients/ stands for itself.
 */
import { builtinModules } from 'node:module';

const log = '^src/log/';
const engine = '^projections/engine/';
const anyModel = '^projections/(?!engine/|models\\.ts$)[^/]+/';
const decisions = '^projections/.*(/decide-[^/]*|\\.state|/place-rows|/guards|/arrived-rows|/stashed-rows|/live-stash|/stash-content|/end-generation)\\.ts$';

/** All modules of Node but this one, by the names that dependency-cruiser gives them. */
const modulesOfNode = (except) => `^(node:)?(${builtinModules.filter((name) => name !== except && !name.startsWith('_')).join('|')})$`;

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    rule('no-cycles', 'No file needs itself, however long the way.', {}, { circular: true }),
    rule('commands-are-pure', 'Commands know no state and do no I/O: they make an event of what a client asks for.',
      { path: '^commands/' }, { path: ['^projections/', '^src/(http|log|database|cli|replay)/', modulesOfNode('crypto')] }),
    rule('the-log-knows-nothing-above-it', 'The log appends and reads records. What they mean is for the projections to say.',
      { path: log }, { path: ['^projections/', '^commands/', '^src/http/', '^src/cli/'] }),
    rule('events-and-values-know-nothing-above-them', 'The language of the log, and of values, is used by all and uses none of them.',
      { path: '^src/(events|values)/' }, { path: ['^projections/', '^commands/', '^src/(http|log|database|cli)/'] }),
    rule('the-engine-knows-models-by-their-interface', 'A new model changes no file of the engine, and no other model.',
      { path: engine }, { path: ['^projections/models\\.ts$', anyModel] }),
    rule('projections-know-no-commands-and-no-http', 'Projections read events, not requests.',
      { path: '^projections/' }, { path: ['^commands/', '^src/(http|cli|replay)/'] }),
    rule('models-know-no-log', 'Models are driven by the engine, on whichever log.',
      { path: anyModel }, { path: log }),
    rule('decisions-are-pure', 'A decision reads the event and the states of models. All that it runs is as pure as it is.',
      { path: decisions }, { path: ['^src/(database|http|log|cli|replay|metrics)/', '\\.(store|queries|entity|model|garbage)\\.ts$', modulesOfNode('buffer'), '^node_modules/'], reachable: true }),
    rule('http-reads-by-queries', 'HTTP reads models through their queries, and writes through the log.',
      { path: '^src/http/' }, { path: ['^projections/.*\\.(store|model|state|garbage|entity)\\.ts$', '/decide-[^/]*\\.ts$', `${engine}(?!outcomes/)`] }),
    rule('administration-is-below-its-two-surfaces', 'The command line and the routes of operators do the same by it.',
      { path: '^src/administration/' }, { path: ['^src/(http|cli)/'] }),
    rule('traces-are-loaded-on-demand', 'Who sends no traces loads nothing of their SDK.',
      { path: '^(src/(?!tracing/)|commands/|projections/)' }, { path: ['^src/tracing/(?!(open-)?tracing\\.ts$)', '^node_modules/@opentelemetry/'] }),
    rule('the-client-knows-no-service', 'A package of its own, which runs without the service, in browsers too.',
      { path: '^clients/typescript/' }, { path: ['^(src|commands|projections)/', modulesOfNode()] }),
    rule('file-import-runs-in-browsers', 'It knows of the service how rows are read and which values fit, of Node its buffers, and is told the rest.',
      { path: '^clients/file-import/' }, { path: ['^(commands|projections)/', '^src/(?!(formats|values)/|each-in-parallel\\.ts$)', '^clients/(?!file-import/|typescript/src/)', modulesOfNode('buffer'), '^node_modules/(?!(@types/)?papaparse/|buffer/|@zip\\.js/|saxes/)'] }),
    rule('the-console-is-a-client', 'It knows the service by the client, and of its code what file-import knows.',
      { path: '^console/src/' }, { path: ['^(commands|projections)/', '^src/(?!(formats|values)/|(byte-size|each-in-parallel)\\.ts$)', '^clients/command-line/', modulesOfNode()] }),
    rule('only-the-command-line-is-a-client', 'The service asks itself nothing over HTTP.', { path: '^(src/(?!cli/)|commands/|projections/)' }, { path: '^clients/' }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
