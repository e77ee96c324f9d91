/** kafkajs errors: no connection to a broker could be made or kept, or a request timed out. */
const names = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSNoBrokerAvailableError',
]);

/** Whether Kafka is away: its brokers cannot be reached, or do not answer. */
export function isKafkaAway(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (names.has(cause.name)) return true;
  }
  return false;
}

/** Whether the topic does not exist. */
export function isTopicMissing(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'UNKNOWN_TOPIC_OR_PARTITION';
}
