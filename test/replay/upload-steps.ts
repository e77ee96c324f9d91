/**
 * What a team does with uploads: files that rows name and others, too large ones, some that the plan does not allow, unknown and
 * repeated ones, and looks at all of them at any time.
 */
import type { EventSender } from './event-sender.ts';
import type { Random } from './random.ts';

const hour = 3_600_000;

export interface UploadStepsOptions {
  readonly random: Random;
  readonly sender: EventSender;
  readonly teamId: string;
  /** The names of its first files. Rows name them, whoever's they are. */
  readonly files: readonly string[];
}

export class UploadSteps {
  readonly #random: Random;
  readonly #sender: EventSender;
  readonly #teamId: string;
  readonly #files: string[];
  readonly #uploadIds: string[] = [];

  constructor({ random, sender, teamId, files }: UploadStepsOptions) {
    this.#random = random;
    this.#sender = sender;
    this.#teamId = teamId;
    this.#files = [...files];
  }

  /** Gives the name of a file that may be there now, or null. */
  step(): string | null {
    const r = this.#random;
    const roll = r.next();
    if (roll < 0.35 || this.#uploadIds.length === 0) return this.#createAndComplete();
    if (roll < 0.45) return this.#complete(this.#any());
    if (roll < 0.55) this.#plan();
    else for (let looks = 1 + r.below(3); looks > 0; looks -= 1) this.#check(this.#any());
    return null;
  }

  /** Mostly one that was created; now and then one that nobody has. */
  #any(): string {
    return this.#random.chance(0.05) ? this.#random.uuid() : this.#random.pick(this.#uploadIds);
  }

  #createAndComplete(): string | null {
    const r = this.#random;
    const uploadId = r.uuid();
    this.#uploadIds.push(uploadId);
    this.#sender.send({
      type: 'UploadCreateRequested', teamId: this.#teamId, uploadId, appId: 'app one', contentType: r.pick(['image/png', 'text/csv']),
      fileName: r.pick(['a.png', 'ü 🙂/b']),
      // Now and then its time is over before anything can come of it; mostly that of a file that no row names soon is.
      limits: {
        sizeMax: 100, lifeMs: r.chance(0.15) ? 0 : hour, unclaimedLifeMs: r.pick([0, 0, 30, hour]), openMax: r.chance(0.2) ? r.below(4) : 1000,
      },
    });
    const file = r.chance(0.8) ? this.#complete(uploadId) : null;
    if (r.chance(0.3)) this.#check(uploadId);
    return file;
  }

  #complete(uploadId: string): string {
    const r = this.#random;
    const name = this.#files.shift() ?? r.uuid().replaceAll('-', '').slice(0, 22);
    const appId = r.chance(0.05) ? 'äpp 🙂' : 'app one';
    this.#sender.send({
      type: 'UploadCompleteRequested', teamId: this.#teamId, uploadId, appId, file: { name, size: r.below(r.chance(0.7) ? 100 : 200) },
    });
    return name;
  }

  #check(uploadId: string): void {
    this.#sender.send({ type: 'UploadChecked', teamId: this.#teamId, uploadId });
  }

  #plan(): void {
    const uploadBytesMax = this.#random.chance(0.4) ? null : this.#random.below(150);
    this.#sender.send({ type: 'TeamPlanSet', teamId: this.#teamId, uploadBytesMax });
  }
}
