/** The log of one process moves to Kafka and back, with an embedded Postgres. */
import { test } from '@jest/globals';
import { isFull, scale } from '../scale.ts';
import { limitMs } from '../support/time-limits.ts';
import { expectMoves } from './expect-moves.ts';
import { MovedService } from './moved-service.ts';

test(
  'a log moves to Kafka and back while clients write, and they notice nothing but a pause',
  async () => {
    await using service = await MovedService.start(['all'], 'postgres');
    await expectMoves(service, scale.moveKills);
  },
  limitMs(isFull ? 1_800_000 : 900_000),
);
