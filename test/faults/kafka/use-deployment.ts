import { afterEach, beforeEach } from '@jest/globals';
import { KafkaDeployment, type KafkaDeploymentOptions } from './kafka-deployment.ts';

/** A separate deployment for each test of the file. Call it within tests. */
export function useDeployment(options: KafkaDeploymentOptions): () => KafkaDeployment {
  let deployment: KafkaDeployment | undefined;
  beforeEach(async () => {
    deployment = await KafkaDeployment.start(options);
  });
  afterEach(async () => {
    await deployment?.stop();
    deployment = undefined;
  });
  return () => deployment!;
}
