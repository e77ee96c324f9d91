/**
 * Typical bugs of this kind of service, planted into a process that is started with `--import` of this file and PLANT
 * set to the name of one. The checkers of these tests must find each of them, or they would be worth nothing.
 */
import { randomUUID } from 'node:crypto';
import { PipelinedClient, type Statement } from '../../../src/storage/database/pipelined-client.ts';
import { decodeEvent, encodeEvent } from '../../../src/language/events/event-codec.ts';
import { HttpError } from '../../../src/api/http/answers/http-error.ts';
import { Submitter } from '../../../src/api/http/submit/submitter.ts';
import type { LogRecord } from '../../../src/log/event-log.ts';
import { KafkaConnection, OffsetOutOfRange } from '../../../src/log/kafka/kafka-connection.ts';
import { OutcomeWaiters } from '../../../src/log/kafka/outcome-waiters.ts';
import { Projector } from '../../../src/log/projector.ts';

export const servicePlants = {
  /** Any process moves the progress, wherever it is. Dedupe, which would hide that, is also removed. */
  'no compare-and-set': () => {
    servicePlants['no dedupe']();
    rewriteStatements(({ name, text }) => ({
      name,
      text: text
        .replaceAll(
          /where partition = (\$\d+) and next = (\$\d+) and epoch = (\$\d+)/g,
          'where partition = $1 and ($2::int8 is null or $3::int8 is null or true)',
        )
        .replaceAll(
          /(insert into outcomes [^)]*\)\s+select \* from .*? as given)(?!\s+on conflict)/gs,
          '$1 on conflict do nothing',
        ),
    }));
  },
  /** A command that is in the log twice is decided twice. */
  'no dedupe': () => {
    rewriteStatements(({ name, text }) =>
      name === 'select_outcomes' ? { name, text: `${text} and false` } : { name, text },
    );
  },
  /** If the projection is past its event, a waiting request counts that as success. */
  'wait by offset only': () => {
    const { settle } = OutcomeWaiters.prototype;
    OutcomeWaiters.prototype.settle = function settleAll(partition, commandId, outcome) {
      // As if the request had no rows: the answer has its usual shape.
      const nothing = { status: 'applied', result: { rows: [] }, etag: outcome.etag ?? 1n } as const;
      return settle.call(this, partition, commandId, outcome.status === 'applied' ? outcome : nothing);
    };
  },
  /** A missing offset is taken for the beginning of the log. */
  'silent offset reset': () => {
    const { fetch } = KafkaConnection.prototype;
    KafkaConnection.prototype.fetch = async function fetchAnything(leader, offsets, options) {
      try {
        return await fetch.call(this, leader, offsets, options);
      } catch (error) {
        if (!(error instanceof OffsetOutOfRange)) throw error;
        const from = offsets.get(error.partition)!;
        const found = await fetch.call(this, leader, new Map([[error.partition, 0n]]), options);
        return new Map(
          Array.from(found, ([partition, { records, end }]) => {
            return [
              partition,
              { end, records: records.map((record, at) => ({ ...record, offset: from + BigInt(at) })) },
            ];
          }),
        );
      }
    };
  },
  /** An event that cannot be projected is skipped. */
  'skipped poison event': () => {
    const { project } = Projector.prototype;
    Projector.prototype.project = async function projectWhatCanBe(tx, partition, records, options) {
      const readable = records.map((record) => {
        if (isEvent(record)) return record;
        const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
        const { bytes } = encodeEvent(envelope, { type: 'GenerationStarted', logId: randomUUID(), base: 0n });
        return { ...record, bytes };
      });
      return project.call(this, tx, partition, readable, options);
    };
  },
  /** From time to time, a request that took effect is answered as refused. */
  '4xx after the append': () => {
    const { submit } = Submitter.prototype;
    let count = 0;
    Submitter.prototype.submit = async function submitAndRefuse(...args) {
      const applied = await submit.apply(this, args);
      count += 1;
      if (count % 50 === 0) throw new HttpError('precondition_failed', 'The row has changed.');
      return applied;
    };
  },
};

export type ServicePlant = keyof typeof servicePlants;

function isEvent({ bytes }: Pick<LogRecord, 'bytes'>): boolean {
  try {
    decodeEvent(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Replaces the statements that are sent by others. */
function rewriteStatements(rewrite: <Row extends object>(statement: Statement<Row>) => Statement<Row>): void {
  const { query } = PipelinedClient.prototype;
  PipelinedClient.prototype.query = function queryElse(statement, values) {
    return query.call(this, rewrite(statement), values) as never;
  };
}

const planted = process.env['PLANT'];
if (planted !== undefined) servicePlants[planted as ServicePlant]();
