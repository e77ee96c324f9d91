/** How test logs are generated: for each model, what a team does with it. */
import type { PackedBody } from '../../../src/language/events/event-codec.ts';
import type { RowSource } from '../../../src/language/events/row-source.ts';
import type { SchemaErrorMode } from '../../../src/language/values/decide-schema.ts';
import type { EventSender } from '../event-sender.ts';
import type { KnownTables } from '../known-tables.ts';
import type { Random } from '../../support/random.ts';
import type { SampleRows } from '../row-samples.ts';

/** What all generators of a team share. */
export interface TeamMaterial {
  readonly teamId: string;
  readonly random: Random;
  readonly sender: EventSender;
  readonly tables: KnownTables;
  readonly blocks: readonly SampleRows[];
  /** The names of the first files that the team creates. Rows of any team name them. */
  readonly files: readonly string[];
  /** Sends an event that adds rows. */
  addRows(tableId: string, rows: RowSource, body?: PackedBody, onSchemaError?: SchemaErrorMode): void;
  /** Sends these blocks first; returns the body that they form. */
  sendBody(blocks: readonly SampleRows[]): Extract<RowSource, { readonly kind: 'body' }>;
}

/** A step, with its weight among all steps. */
export type WeightedStep = readonly [weight: number, take: () => void | Promise<void>];

export interface Generator {
  readonly steps: readonly WeightedStep[];
  /** Called at the start of every log, in the order of the models. */
  begin?(): Promise<void>;
  /** Called before a burst of this many steps, which wait for no outcome. */
  beginBurst?(steps: number): void | Promise<void>;
  /** Called before each step of a burst. */
  beforeStep?(step: number): void;
  endBurst?(): void;
}

export type GeneratorOf = (team: TeamMaterial) => Generator;
