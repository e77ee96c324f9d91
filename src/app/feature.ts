/**
 * A feature is a capability of the service, as a value: routes, metrics and background tasks. `features.ts` lists all
 * of them.
 */
import type { Registry } from 'prom-client';
import type { App } from '../api/http/server/app-type.ts';
import type { MaintenanceTask } from '../operations/maintenance/round.ts';
import type { SharedParts } from './shared-parts.ts';

/** Opens a feature. It may create its own objects, but must not use the parts before a route or a task runs. */
export type Feature = (parts: SharedParts) => OpenFeature;

export interface OpenFeature {
  /** Adds its routes. Not called in a projector, which serves no features. */
  readonly routes?: (app: App) => void;
  /** Adds its metrics. */
  readonly metrics?: (registry: Registry) => void;
  /** Its background tasks. Only one process at a time runs them. */
  readonly maintenance?: readonly MaintenanceTask[];
  /** Closes its own objects. Called when no request and no task uses them any more. */
  readonly close?: () => Promise<void>;
}
