/**
 * Import this before the service (`node --import`). From SIGUSR2 on, appends to the log get no answer, as if a promise
 * had been forgotten. Nothing else is affected.
 */
import { PipelinedClient } from '../../src/storage/database/pipelined-client.ts';
import { KafkaConnection } from '../../src/log/kafka/kafka-connection.ts';

let hangs = false;
process.on('SIGUSR2', () => {
  hangs = true;
});

const { query } = PipelinedClient.prototype;
PipelinedClient.prototype.query = function queryOrHang(statement, values) {
  return hangs && statement.text.includes('update tablog_log.heads')
    ? new Promise(() => undefined)
    : (query.call(this, statement, values) as never);
};

const { send } = KafkaConnection.prototype;
KafkaConnection.prototype.send = function sendOrHang(...args) {
  return hangs ? new Promise(() => undefined) : send.apply(this, args);
};
