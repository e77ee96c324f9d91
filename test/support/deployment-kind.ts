/** The kind of deployment of a test project (jest.config.mjs). */
import { createTopic } from './kafka/topics.ts';

/**
 * The log in Postgres; in Kafka with one process; or in Kafka with two processes that answer requests and two that
 * project.
 */
export type DeploymentKind = 'postgres' | 'kafka' | 'kafka-split';

declare global {
  // oxlint-disable-next-line no-var -- set by Jest for each project
  var deploymentKind: DeploymentKind | undefined;
}

export const deploymentKind: DeploymentKind = globalThis.deploymentKind ?? 'postgres';

/**
 * Creates a log for one test, to use with its own database. Resolves to the log's settings, and a function that deletes
 * it.
 */
export async function createLog(kind = deploymentKind): ReturnType<typeof createTopic> {
  if (kind === 'postgres') return { environment: {}, drop: async () => undefined };
  return createTopic();
}
