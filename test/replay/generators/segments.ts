/** Bodies whose blocks never came. Those that did are sent for what their rows go into (`sendBody`). */
import type { GeneratorOf } from './generator.ts';

export const generateSegments: GeneratorOf = ({ random: r, tables, addRows }) => ({
  steps: [[20, () => addRows(tables.pick(), { kind: 'body', bodyId: r.uuid(), blocks: 2 })]],
});
