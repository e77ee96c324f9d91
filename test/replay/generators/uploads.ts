/**
 * What a team does with uploads: files that rows name or not, too large files, files beyond the plan, unknown and
 * repeated completions, and checks and deletions of any upload at any time.
 */
import type { RowSource } from '../../../src/language/events/row-source.ts';
import { packRows, pictureOf } from '../row-samples.ts';
import type { Generator, WeightedStep, TeamMaterial } from './generator.ts';

const hour = 3_600_000;

export class UploadsGenerator implements Generator {
  readonly #team: TeamMaterial;
  readonly #files: string[];
  readonly #uploadIds: string[] = [];
  #isUsed = true;

  constructor(team: TeamMaterial) {
    this.#team = team;
    this.#files = [...team.files];
  }

  get steps(): readonly WeightedStep[] {
    return this.#isUsed ? [[333, () => this.#step()]] : [];
  }

  /**
   * `UploadChecked` forces its batch into a transaction; most bursts do without, so that others are decided
   * speculatively.
   */
  endBurst(): void {
    this.#isUsed = this.#team.random.chance(0.25);
  }

  /** May add a row that names a completed file, before or after the file is checked. */
  async #step(): Promise<void> {
    const { random: r, tables, addRows } = this.#team;
    const file = this.#use();
    if (file === null || r.chance(0.4)) return;
    const { carried, body } = await packRows([pictureOf(r, file)]);
    const rows = r.pick<RowSource>([
      { kind: 'few', ...carried },
      { kind: 'block', ...carried, segmentId: r.uuid() },
    ]);
    addRows(tables.pick(), rows, body, 'updateSchema');
  }

  /** Takes a random step; returns the name of a file that may exist now, or null. */
  #use(): string | null {
    const r = this.#team.random;
    const roll = r.next();
    if (roll < 0.35 || this.#uploadIds.length === 0) return this.#createAndComplete();
    if (roll < 0.45) return this.#complete(this.#any());
    if (roll < 0.52) this.#delete(this.#any());
    else if (roll < 0.6) this.#plan();
    else for (let looks = 1 + r.below(3); looks > 0; looks -= 1) this.#check(this.#any());
    return null;
  }

  /** Mostly an upload that was created; now and then an unknown one. */
  #any(): string {
    return this.#team.random.chance(0.05) ? this.#team.random.uuid() : this.#team.random.pick(this.#uploadIds);
  }

  #createAndComplete(): string | null {
    const r = this.#team.random;
    const uploadId = r.uuid();
    this.#uploadIds.push(uploadId);
    this.#team.sender.send({
      type: 'UploadCreateRequested',
      teamId: this.#team.teamId,
      uploadId,
      appId: 'app one',
      contentType: r.pick(['image/png', 'text/csv']),
      fileName: r.pick(['a.png', 'ü 🙂/b']),
      // Now and then the upload expires at once; files that no row names mostly expire soon.
      limits: {
        sizeMax: 100,
        lifeMs: r.chance(0.15) ? 0 : hour,
        unclaimedLifeMs: r.pick([0, 0, 30, hour]),
        openMax: r.chance(0.2) ? r.below(4) : 1000,
        openBytesMax: r.chance(0.2) ? r.below(400) : 1e6,
      },
    });
    const file = r.chance(0.8) ? this.#complete(uploadId) : null;
    if (r.chance(0.3)) this.#check(uploadId);
    return file;
  }

  #complete(uploadId: string): string {
    const r = this.#team.random;
    const name = this.#files.shift() ?? r.uuid().replaceAll('-', '').slice(0, 22);
    const appId = r.chance(0.05) ? 'äpp 🙂' : 'app one';
    this.#team.sender.send({
      type: 'UploadCompleteRequested',
      teamId: this.#team.teamId,
      uploadId,
      appId,
      file: { name, size: r.below(r.chance(0.7) ? 100 : 200) },
    });
    return name;
  }

  #delete(uploadId: string): void {
    const appId = this.#team.random.chance(0.1) ? 'another app' : 'app one';
    this.#team.sender.send({ type: 'UploadDeleteRequested', teamId: this.#team.teamId, uploadId, appId });
  }

  #check(uploadId: string): void {
    this.#team.sender.send({ type: 'UploadChecked', teamId: this.#team.teamId, uploadId });
  }

  #plan(): void {
    const uploadBytesMax = this.#team.random.chance(0.4) ? null : this.#team.random.below(150);
    this.#team.sender.send({ type: 'TeamPlanSet', teamId: this.#team.teamId, uploadBytesMax });
  }
}
