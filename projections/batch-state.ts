/**
 * The state of one batch: what is known, which later events see as earlier ones have changed it, and what of it is to be stored.
 * At the end only the net changes are.
 */
import type { BodyBlock, Change, Chunk, Generation, Link, Stash, StoredRow, Table, Team, Token, Upload } from './decision.ts';
import type { KeptId } from './kept-ids.ts';
import { KnownState } from './known-state.ts';
import { PairMap } from './pair-map.ts';
import type { TailRow } from './tables/links.store.ts';
import type { StoredSchema } from './tables/tables.store.ts';
import { PatchedReferences } from './uploads/patched-references.ts';

export class BatchState extends KnownState {
  /** What is to be stored, each thing once. */
  readonly changed = {
    teams: new Set<string>(),
    tokens: new Set<string>(),
    tables: new Set<string>(),
    newTables: new Set<string>(),
    links: new Set<bigint>(),
    rows: new PairMap<bigint, number, StoredRow>(),
    schemas: [] as StoredSchema[],
    tailRows: [] as TailRow[],
    keptIds: [] as KeptId[],
    generations: [] as Generation[],
    appLinks: [] as { tableId: string; appId: string }[],
    bodyBlocks: [] as BodyBlock[],
    stashes: new Map<bigint, Stash>(),
    /** The new ones by stash and serial, and those that were there before and have been replaced. */
    chunks: new PairMap<bigint, string, Chunk>(),
    replacedChunks: [] as bigint[],
    uploads: new Map<string, Upload>(),
    references: new PatchedReferences(),
  };

  /** Takes the changes of a decision over, for the events behind it and for the store. */
  apply(changes: readonly Change[]): void {
    for (const change of changes) this.#applyOne(change);
  }

  #applyOne(change: Change): void {
    const { changed } = this;
    switch (change.kind) {
      case 'team':
        this.putTeam(change.team);
        changed.teams.add(change.team.id);
        return;
      case 'token':
        this.putToken(change.token);
        changed.tokens.add(change.token.id);
        return;
      case 'table':
        if (this.findTable(change.table.id) === null) changed.newTables.add(change.table.id);
        this.putTable(change.table);
        changed.tables.add(change.table.id);
        return;
      case 'appLinks':
        for (const appId of change.appIds) changed.appLinks.push({ tableId: change.tableId, appId });
        return;
      case 'schema':
        this.putSchema(change);
        changed.schemas.push(change);
        return;
      case 'link':
        this.putLink(change.link);
        changed.links.add(change.link.key);
        return;
      case 'tailRows': {
        const teamId = this.#teamOf(change.link);
        change.bodies.forEach((body, at) => {
          const index = change.first + at;
          changed.tailRows.push({ teamId, segment: change.link.segment, index, version: change.version, body });
          const id = change.ids?.[at] ?? null;
          if (id !== null) this.#keep({ segment: change.link.segment, index, id });
          const { link, version } = change;
          this.putRow({ link, index, version, body, stored: 'presented', decidedAt: version });
        });
        return;
      }
      case 'generation':
        changed.generations.push(change.generation);
        return;
      case 'row': {
        const { link, index, version, body } = change;
        const row = { link, index, version, body, stored: 'presented', decidedAt: version } as const;
        changed.references.replace({ teamId: this.#teamOf(link), link: link.key, index }, this.findRow(link.key, index)?.body ?? null, body);
        this.putRow(row);
        changed.rows.set(link.key, index, row);
        return;
      }
      case 'bodyBlock':
        this.putBodyBlock(change.block);
        changed.bodyBlocks.push(change.block);
        return;
      case 'upload':
        this.putUpload(change.upload);
        changed.uploads.set(change.upload.id, change.upload);
        return;
      case 'stash':
        this.putStash(change.stash);
        changed.stashes.set(change.stash.key, change.stash);
        return;
      case 'chunk': {
        const { chunk, replaces } = change;
        const isNew = changed.chunks.get(chunk.stash, chunk.serial) !== undefined;
        if (replaces !== null && !isNew) changed.replacedChunks.push(replaces);
        changed.chunks.set(chunk.stash, chunk.serial, chunk);
        this.replaceChunk(chunk);
      }
    }
  }

  /** Whose rows a link has: a change of them is made with their table at hand. */
  #teamOf({ tableId }: Link): string {
    return this.findTable(tableId)!.teamId;
  }

  #keep(kept: KeptId): void {
    this.putKeptId(kept);
    this.changed.keptIds.push(kept);
  }

  // What is new: nobody can fetch it yet.

  /** The identities that rows have kept in this batch, and its links that keep any. */
  newKeptIds(): readonly KeptId[] {
    return this.changed.keptIds;
  }

  newKeepingLinks(): readonly Link[] {
    return this.changedLinks().filter(({ kept }) => kept !== null);
  }

  /** The chunks that have come into a stash in this batch. */
  newChunks(stash: bigint): readonly Chunk[] {
    return this.changed.chunks.valuesOf(stash);
  }

  // What is to be stored.

  changedTeams(): Team[] {
    return [...this.changed.teams].map((id) => this.team(id)!);
  }

  changedTokens(): Token[] {
    return [...this.changed.tokens].map((id) => this.token(id)!);
  }

  /** Those that were there before. */
  changedTables(): Table[] {
    const { tables, newTables } = this.changed;
    return [...tables].filter((id) => !newTables.has(id)).map((id) => this.findTable(id)!);
  }

  newTables(): Table[] {
    return [...this.changed.newTables].map((id) => this.findTable(id)!);
  }

  changedLinks(): Link[] {
    return [...this.changed.links].map((key) => this.link(key));
  }

  changedRows(): StoredRow[] {
    return this.changed.rows.values();
  }
}
