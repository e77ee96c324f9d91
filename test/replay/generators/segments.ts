/**
 * Bodies whose blocks never arrived, that were opened and never closed, or are said to have expired. Complete bodies
 * are sent along with the requests that use them (`sendBody`).
 */
import type { GeneratorOf } from './generator.ts';

export const generateSegments: GeneratorOf = ({ teamId, random: r, sender, tables, addRows }) => {
  const open: string[] = [];

  function openBody(openMax: number): void {
    const bodyId = r.uuid();
    sender.send({ type: 'BodyOpenRequested', teamId, bodyId, limits: { openMax } });
    open.push(bodyId);
  }

  return {
    steps: [
      [20, () => addRows(tables.pick(), { kind: 'body', bodyId: r.chance(0.5) ? r.uuid() : r.pick(open), blocks: 2 })],
      [5, () => openBody(r.pick([1, 3, 1000]))],
      // Too early, or of another body.
      [5, () => sender.send({ type: 'BodyExpired', teamId, bodyId: r.chance(0.2) ? r.uuid() : r.pick(open) })],
    ],
    // Every log has an open body.
    begin: async () => {
      openBody(1000);
      openBody(1000);
    },
    endBurst: () => openBody(1000),
  };
};
