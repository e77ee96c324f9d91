/** How a body is stored, in SQL and in code: as it was received, or as a schema presented it. */
import {
  asStored,
  receivedForm,
  type BodyForm,
  type Presenter,
  type PresenterFor,
  type StoredForm,
} from '../../../src/language/values/presentation.ts';
import type { Rule } from '../../../src/language/values/rule.ts';
import type { Extent } from '../table.ts';

type StoredBodies = Pick<Extent, 'presented' | 'cells' | 'schemaVersion' | 'wrap' | 'rule'>;

/** How the unchanged bodies of an extent are stored. */
export function bodyFormOf({ presented, cells, schemaVersion: decidedAt, wrap, rule }: StoredBodies): BodyForm {
  return presented === null ? { stored: receivedForm(cells), decidedAt, wrap, rule } : changedForm(presented);
}

/** The form of a body that this schema version presented, such as the body of a change. */
export function changedForm(version: bigint): BodyForm {
  return { stored: 'presented', decidedAt: version, wrap: false, rule: 1 };
}

/**
 * The form of a body in an extent, in SQL, as a text for `presenterOfForm`; null: the body needs no conversion.
 * @param presented in SQL, the version whose schema presented the body; null: it is stored as received
 * @param widened in SQL, the version since which older bodies read differently
 */
export function formInSql(extent: string, presented: string, widened: string): string {
  return `case when ${presented} is null
      then concat_ws(' ', case when ${extent}.cells then 'cells' else 'received' end, ${extent}.schema_version,
      ${extent}.wrap, ${extent}.rule)
    when ${presented} < ${widened} then 'presented ' || ${presented} || ' f 1' end`;
}

/** The presenter of bodies whose form is this value of `formInSql`. */
export function presenterOfForm(text: string | null, presenterFor: PresenterFor): Presenter {
  if (text === null) return asStored;
  const [stored, decidedAt, wrap, rule] = text.split(' ') as [StoredForm, string, 't' | 'f', string];
  return presenterFor({ stored, decidedAt: BigInt(decidedAt), wrap: wrap === 't', rule: Number(rule) as Rule });
}
