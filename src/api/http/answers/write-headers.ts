/** The headers of an answer that say what a write did. */
import type { FastifyReply } from 'fastify';
import type { OperationCounts } from '../../../language/events/outcome.ts';
import type { Remarks } from '../../../language/formats/row-reader.ts';

/** Tells the client what the operations of a batch did. Undefined: the request was no batch. */
export function setOperationCounts(reply: FastifyReply, counts: OperationCounts | undefined): FastifyReply {
  if (counts === undefined) return reply;
  const { added, patched, unchanged, deleted } = counts;
  const text = `added=${added}, patched=${patched}, unchanged=${unchanged}, deleted=${deleted}`;
  return reply.header('tablog-rows', text);
}

/** Sends how many cells were dropped. Undefined: the request drops no cells, or they were not counted. */
export function setDroppedCells(reply: FastifyReply, droppedCells: number | undefined): FastifyReply {
  return droppedCells === undefined ? reply : reply.header('tablog-dropped-cells', droppedCells);
}

/** Sends remarks on a body that was read in a way that the client may not expect. */
export function setRemarks(reply: FastifyReply, { shortLines, notes }: Remarks): FastifyReply {
  if (shortLines > 0) reply.header('tablog-short-lines', shortLines);
  return notes.length === 0 ? reply : reply.header('tablog-notes', notes.join('; '));
}
