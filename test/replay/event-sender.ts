/**
 * Sends the events of a team: many concurrently, with late and repeated ones. Call `settle` now and then, because later
 * events refer to what earlier ones created.
 */
import { encodeEvent, type PackedBody } from '../../src/language/events/event-codec.ts';
import type { EncodedEvent, EventData } from '../../src/language/events/event.ts';
import type { Outcome } from '../../src/language/events/outcome.ts';
import { NotAppended, type EventLog } from '../../src/log/event-log.ts';
import { partitionOf } from '../../src/log/partition.ts';
import type { Random } from '../support/random.ts';

const hour = 3_600_000;

interface EventSenderOptions {
  readonly log: EventLog;
  readonly random: Random;
  readonly teamId: string;
  /** Receives the outcomes of events about tables. */
  readonly onOutcome: (outcome: Outcome, tableId: string) => void;
}

export class EventSender {
  appended = 0;
  /** Enables `repeat`. */
  repeats = false;
  readonly #options: EventSenderOptions;
  #sent: Promise<void>[] = [];
  #recent: EncodedEvent[] = [];

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  send(data: EventData & { readonly teamId: string }, body?: PackedBody): void {
    const { log, random: r } = this.#options;
    const isRequest = data.type.endsWith('Requested');
    const envelope = {
      commandId: r.uuid(),
      notAfter: !isRequest ? null : r.chance(0.01) ? 1 : log.now() + hour,
      requestDigest: r.chance(0.1) ? `digest ${r.below(1e6)}` : null,
    };
    const event = encodeEvent(envelope, data, body);
    if (r.chance(0.1)) this.#recent = [...this.#recent.slice(-30), event];
    this.#append(event, 'tableId' in data ? data.tableId : undefined);
  }

  /** Appends a recent event again, or another event with its command ID. */
  repeat(): void {
    const { random: r, teamId } = this.#options;
    if (!this.repeats || this.#recent.length === 0) return;
    const again = r.pick(this.#recent);
    this.#append(again);
    if (r.chance(0.5)) return;
    const envelope = { commandId: again.commandId, notAfter: null, requestDigest: null };
    this.#append(encodeEvent(envelope, { type: 'TeamResumed', teamId }));
  }

  /** Appends a LogResumed to the team's partition: it raises the base, or comes again. */
  resume(): void {
    const { random: r } = this.#options;
    const envelope = { commandId: r.uuid(), notAfter: null, requestDigest: null };
    this.#append(encodeEvent(envelope, { type: 'LogResumed', base: BigInt(r.below(1000)) * 2n ** 32n }));
  }

  /** Settles when every event sent has its outcome. */
  async settle(): Promise<void> {
    const sent = this.#sent;
    this.#sent = [];
    await Promise.all(sent);
  }

  #append(event: EncodedEvent, tableId?: string): void {
    const { log, teamId, onOutcome } = this.#options;
    this.appended += 1;
    const appended = log.append(partitionOf(teamId, log.partitions), event).then(
      (outcome) => {
        if (tableId !== undefined) onOutcome(outcome, tableId);
      },
      (error: unknown) => {
        // It came late: it is in the log without an outcome.
        if (!(error instanceof NotAppended && error.message.includes('waited too long'))) throw error;
      },
    );
    this.#sent.push(appended);
  }
}
