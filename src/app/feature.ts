/** A capability of the service, as a value: what it adds to a process that serves. `features.ts` lists them all. */
import type { Registry } from 'prom-client';
import type { App } from '../api/http/server/app-type.ts';
import type { MaintenanceTask } from '../operations/maintenance/round.ts';
import type { SharedParts } from './shared-parts.ts';

/** Opens a feature. It may build what it keeps, but asks nothing of the parts until it is used. */
export type Feature = (parts: SharedParts) => OpenFeature;

export interface OpenFeature {
  /** Adds its routes. Not called in a projector, which serves none. */
  readonly routes?: (app: App) => void;
  /** Adds its metrics. */
  readonly metrics?: (registry: Registry) => void;
  /** What it does in the background. Of all processes, one does it at a time. */
  readonly maintenance?: readonly MaintenanceTask[];
  /** Closes what it keeps, once no request and no task uses it any more. */
  readonly close?: () => Promise<void>;
}
