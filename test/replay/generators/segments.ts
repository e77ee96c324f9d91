/** Bodies whose blocks never arrived. Complete bodies are sent along with the requests that use them (`sendBody`). */
import type { GeneratorOf } from './generator.ts';

export const generateSegments: GeneratorOf = ({ random: r, tables, addRows }) => ({
  steps: [[20, () => addRows(tables.pick(), { kind: 'body', bodyId: r.uuid(), blocks: 2 })]],
});
