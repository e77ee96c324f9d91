/** How the logs that tests replay are generated: for each model, what a team does with it. */
import type { PackedBody } from '../../../src/events/event-codec.ts';
import type { RowSource } from '../../../src/events/event.ts';
import type { SchemaErrorMode } from '../../../src/values/decide-schema.ts';
import type { EventSender } from '../event-sender.ts';
import type { KnownTables } from '../known-tables.ts';
import type { Random } from '../random.ts';
import type { SampleRows } from '../row-samples.ts';

/** What the generators of a team have in common. */
export interface TeamMaterial {
  readonly teamId: string;
  readonly random: Random;
  readonly sender: EventSender;
  readonly tables: KnownTables;
  readonly blocks: readonly SampleRows[];
  /** The names of its first files. Rows name them, whoever's they are. */
  readonly files: readonly string[];
  /** Asks for rows to be added. */
  addRows(tableId: string, rows: RowSource, body?: PackedBody, onSchemaError?: SchemaErrorMode): void;
  /** Sends these blocks ahead, and gives the body that they are of. */
  sendBody(blocks: readonly SampleRows[]): Extract<RowSource, { readonly kind: 'body' }>;
}

/** A step is taken as often as its weight says. */
export type Step = readonly [weight: number, take: () => void | Promise<void>];

export interface Generator {
  readonly steps: readonly Step[];
  /** What every log begins with, in the order of the models. */
  begin?(): Promise<void>;
  /** Before so many steps that wait for no outcome. */
  beginBurst?(steps: number): void | Promise<void>;
  /** Before a step of those. */
  beforeStep?(step: number): void;
  endBurst?(): void;
}

export type GeneratorOf = (team: TeamMaterial) => Generator;
