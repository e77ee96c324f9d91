/** Every table of the read model. */
import { OutcomeEntity } from './outcomes/outcome.entity.ts';
import { ProgressEntity } from './progress/progress.entity.ts';
import { BodyBlockEntity, KeptIdEntity, SegmentEntity, SegmentRowEntity } from './segments/segment.entity.ts';
import { ChunkBlockEntity, StashEntity } from './stashes/stash.entity.ts';
import {
  AppLinkEntity, ChangeEntity, GenerationEntity, LinkEntity, TableEntity, TableSchemaEntity,
} from './tables/table.entity.ts';
import { TeamEntity, TokenEntity } from './teams/team.entity.ts';
import { ChangeReferenceEntity, FileReferenceEntity } from './uploads/file-reference.entity.ts';
import { UploadEntity } from './uploads/upload.entity.ts';

export const entities = [
  AppLinkEntity, BodyBlockEntity, ChangeEntity, ChangeReferenceEntity, ChunkBlockEntity, FileReferenceEntity, GenerationEntity,
  KeptIdEntity, LinkEntity, OutcomeEntity, ProgressEntity, SegmentEntity, SegmentRowEntity, StashEntity, TableEntity,
  TableSchemaEntity, TeamEntity, TokenEntity, UploadEntity,
] as const;
