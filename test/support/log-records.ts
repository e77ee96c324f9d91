/** The records of a team in the log, for tests that check what a request leaves there. */
import type { Service } from '../../src/app/service.ts';
import { decodeEvent } from '../../src/language/events/event-codec.ts';
import { type Event } from '../../src/language/events/event.ts';
import { teamOf } from '../../src/language/events/event-names.ts';
import { allPartitions, partitionOf } from '../../src/log/partition.ts';

export interface TeamRecord {
  readonly event: Event;
  readonly bytes: number;
}

/** The number of records in all partitions, and their bytes. */
export async function sizeOfLog({ log }: Service): Promise<{ readonly records: number; readonly bytes: number }> {
  const sizes = await Promise.all(
    allPartitions(log.partitions).map(async (partition) => {
      const { start, end } = await log.bounds(partition);
      const sizesOfRecords: number[] = [];
      for await (const records of log.read(partition, start, end))
        sizesOfRecords.push(...records.map(({ bytes }) => bytes.length));
      return sizesOfRecords;
    }),
  );
  return { records: sizes.flat().length, bytes: sizes.flat().reduce((sum, size) => sum + size, 0) };
}

/** All records of a team, in order. */
export async function recordsOfTeam({ log }: Service, teamId: string): Promise<TeamRecord[]> {
  const partition = partitionOf(teamId, log.partitions);
  const { start, end } = await log.bounds(partition);
  const found: TeamRecord[] = [];
  for await (const records of log.read(partition, start, end)) {
    for (const { bytes } of records) {
      const event = decodeEvent(bytes);
      if (teamOf(event.data) === teamId) found.push({ event, bytes: bytes.length });
    }
  }
  return found;
}
