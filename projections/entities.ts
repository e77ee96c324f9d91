/** Every table of the read model. */
import { OutcomeEntity } from './outcomes/outcome.entity.ts';
import { ProgressEntity } from './progress/progress.entity.ts';
import { BodyBlockEntity, SegmentEntity, SegmentRowEntity } from './segments/segment.entity.ts';
import { AppLinkEntity, ChangeEntity, LinkEntity, TableEntity, TableSchemaEntity } from './tables/table.entity.ts';
import { TeamEntity, TokenEntity } from './teams/team.entity.ts';

export const entities = [
  AppLinkEntity, BodyBlockEntity, ChangeEntity, LinkEntity, OutcomeEntity, ProgressEntity, SegmentEntity,
  SegmentRowEntity, TableEntity, TableSchemaEntity, TeamEntity, TokenEntity,
] as const;
