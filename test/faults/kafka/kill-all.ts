/** Power cuts: all processes of the service, Postgres and the broker are killed at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaDeployment } from './kafka-deployment.ts';

/**
 * Kills everything and starts it again this many times, each time after a random while (`random` returns 0 to 1).
 * Resolves when everything is ready after the last time.
 */
export async function killAllRepeatedly(
  deployment: KafkaDeployment,
  kills: number,
  random: () => number,
): Promise<void> {
  for (let count = 0; count < kills; count += 1) {
    await deployment.untilReady();
    await sleep(50 + random() * 2500);
    await Promise.all([deployment.kill(deployment.places), deployment.killPostgres(), deployment.broker.kill()]);
    await Promise.all([deployment.restartPostgres(), deployment.broker.start()]);
    await deployment.restart(deployment.places);
  }
  await deployment.untilReady();
}
