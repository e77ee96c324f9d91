/**
 * The requests of this process that wait for the outcomes of their commands. The outcome comes from the projection: of
 * this process, or of another one through Postgres. A request waits for its command, never only for an offset: when the
 * projection has passed the offset, the command may have come too late, or may be in the log twice.
 */
import { AppendUnknown, tooLate } from '../event-log.ts';
import type { CommandId } from '../event-log.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { HeldTeams } from '../quarantine/held-teams.ts';
import { answersAttempt, type CommandAttempt, type RecordedOutcome } from '../outcomes/recorded-outcome.ts';

/** The wait of one request. */
export interface OutcomeWait {
  /** The outcome of its command. */
  readonly outcome: Promise<Outcome>;
  /** Records where in the log the request's event is. */
  placedAt(place: NonNullable<CommandAttempt['place']>): void;
  /** Rejects the wait. */
  fail(error: Error): void;
}

class Waiter implements CommandAttempt {
  readonly commandId: CommandId;
  readonly teamId: string;
  readonly notAfter: number | null;
  readonly began = performance.now();
  readonly settled = Promise.withResolvers<Outcome>();
  place: CommandAttempt['place'] = null;

  constructor(commandId: CommandId, teamId: string, notAfter: number | null) {
    this.commandId = commandId;
    this.teamId = teamId;
    this.notAfter = notAfter;
  }
}

export class OutcomeWaiters {
  /** By partition and command. If a client repeats a command, several requests wait for it. */
  readonly #waiting: readonly Map<CommandId, Set<Waiter>>[];
  /** When the projection of each partition last moved, by `performance.now`. */
  readonly #movedAt: number[];
  readonly #progress: bigint[];

  constructor(partitions: number) {
    this.#waiting = Array.from({ length: partitions }, () => new Map());
    this.#movedAt = Array.from({ length: partitions }, () => 0);
    this.#progress = Array.from({ length: partitions }, () => 0n);
  }

  /** `notAfter`: the log time until which the event can take effect; null: at any time. */
  wait(partition: number, commandId: CommandId, teamId: string, notAfter: number | null): OutcomeWait {
    const waiter = new Waiter(commandId, teamId, notAfter);
    const waiting = this.#waiting[partition]!;
    const others = waiting.get(commandId);
    if (others) others.add(waiter);
    else waiting.set(commandId, new Set([waiter]));
    return {
      outcome: waiter.settled.promise,
      placedAt: (place) => {
        waiter.place = place;
      },
      fail: (error) => {
        this.#forget(partition, waiter);
        waiter.settled.reject(error);
      },
    };
  }

  /** The commands of a partition for which a request has waited for at least `msAgo`. */
  commands(partition: number, msAgo = 0): CommandId[] {
    const before = performance.now() - msAgo;
    const commands: CommandId[] = [];
    for (const [commandId, waiters] of this.#waiting[partition]!) {
      for (const { began } of waiters) {
        if (began > before) continue;
        commands.push(commandId);
        break;
      }
    }
    return commands;
  }

  /** Whether requests here wait for all of these commands. */
  waitForAll(partition: number, commands: Iterable<CommandId>): boolean {
    for (const command of commands) if (!this.#waiting[partition]!.has(command)) return false;
    return true;
  }

  /**
   * Delivers a stored outcome to the requests whose attempt it answers. The other requests for the command go on
   * waiting.
   */
  settleStored(partition: number, recorded: RecordedOutcome): void {
    for (const waiter of this.#waiting[partition]!.get(recorded.commandId) ?? []) {
      if (!answersAttempt(recorded, waiter)) continue;
      this.#forget(partition, waiter);
      waiter.settled.resolve(recorded.outcome);
    }
  }

  /** Delivers the outcome of a command that was just decided. Returns whether a request here waited for it. */
  settle(partition: number, commandId: CommandId, outcome: Outcome): boolean {
    const waiting = this.#waiting[partition]!;
    const waiters = waiting.get(commandId);
    if (!waiters) return false;
    waiting.delete(commandId);
    for (const { settled } of waiters) settled.resolve(outcome);
    return true;
  }

  /** The event of this command is held, so its outcome is unknown until the team is released. */
  hold(partition: number, commandId: CommandId): void {
    for (const waiter of this.#waiting[partition]!.get(commandId) ?? []) this.#giveUpHeld(partition, waiter);
  }

  /**
   * Call this when all outcomes of records from `from` (inclusive) to `next` (exclusive) have been delivered. A request
   * that still waits for one of these records came too late to take effect.
   */
  advance(partition: number, from: bigint, next: bigint): void {
    this.moved(partition, next);
    this.#refuseLate(partition, this.#waiting[partition]!.keys(), (offset) => offset >= from && offset < next);
  }

  /**
   * Call this when the progress is at `next`, and all outcomes that these commands had by then have been delivered.
   * `held`: the teams that are held at that progress.
   */
  advanceFor(partition: number, commands: readonly CommandId[], next: bigint, held: HeldTeams): void {
    this.moved(partition, next);
    for (const command of held.since.size === 0 ? [] : commands) {
      for (const waiter of this.#waiting[partition]!.get(command) ?? []) {
        if (held.since.has(waiter.teamId) && waiter.place !== null && waiter.place.offset < next)
          this.#giveUpHeld(partition, waiter);
      }
    }
    this.#refuseLate(partition, commands, (offset) => offset < next);
  }

  /** The progress of a partition is at `next`. Outcomes may not have been delivered yet. */
  moved(partition: number, next: bigint): void {
    if (next <= this.#progress[partition]!) return;
    this.#progress[partition] = next;
    this.#movedAt[partition] = performance.now();
  }

  /** Rejects the requests for which nothing has moved for this many milliseconds: their outcomes are unknown. */
  giveUp(ms: number): void {
    const now = performance.now();
    this.#waiting.forEach((waiting, partition) => {
      for (const waiters of waiting.values()) {
        for (const waiter of waiters) {
          if (now - Math.max(waiter.began, this.#movedAt[partition]!) < ms) continue;
          this.#forget(partition, waiter);
          waiter.settled.reject(new AppendUnknown('no projector has processed the request in time'));
        }
      }
    });
  }

  /** Rejects all requests of a partition that has halted. */
  abandon(partition: number): void {
    for (const waiters of this.#waiting[partition]!.values()) {
      for (const { settled } of waiters) settled.reject(new AppendUnknown(`partition ${partition} has halted`));
    }
    this.#waiting[partition]!.clear();
  }

  #refuseLate(partition: number, commands: Iterable<CommandId>, isTold: (offset: bigint) => boolean): void {
    for (const command of commands) {
      for (const waiter of this.#waiting[partition]!.get(command) ?? []) {
        if (waiter.place === null || !isTold(waiter.place.offset)) continue;
        this.#forget(partition, waiter);
        waiter.settled.reject(tooLate());
      }
    }
  }

  #giveUpHeld(partition: number, waiter: Waiter): void {
    this.#forget(partition, waiter);
    waiter.settled.reject(new AppendUnknown(`the event is held, because team ${waiter.teamId} is in quarantine`));
  }

  #forget(partition: number, waiter: Waiter): void {
    const waiting = this.#waiting[partition]!;
    const waiters = waiting.get(waiter.commandId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) waiting.delete(waiter.commandId);
  }
}
