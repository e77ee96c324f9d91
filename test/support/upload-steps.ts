/** Decisions about an upload, step by step. It is created at version 60, and each later step has its own time. */
import type { States } from '../../projections/models.ts';
import { given, here, when, type Given } from './decisions.ts';
import { createUpload, type Request } from './requests.ts';

export type UploadStep = readonly [time: number, request: Request];

/** The state after the creation and these requests, at their times. */
export function afterSteps(state: Given, ...steps: readonly UploadStep[]): States {
  const made = given(state);
  when(made, createUpload(), { ...here, version: 60n });
  for (const [time, request] of steps) when(made, request, { ...here, version: 61n, time });
  return made;
}
