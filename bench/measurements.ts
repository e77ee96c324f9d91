/**
 * The measurements, in the order of a full run: first reads of rows as loaded, then patches, then adds.
 */

export type Workload = 'get' | 'list' | 'patch' | 'batch' | 'add';

export interface Measurement {
  /** The name for `--only`: the workload and its number of connections. */
  name: string;
  label: string;
  workload: Workload;
  connections: number;
  /** `requests/s` and `rows/s` are throughput; `ms p50` is the median response time. */
  unit: 'requests/s' | 'rows/s' | 'ms p50';
  /** The goal for the ratio to the yardstick; none if the figure is only reported. */
  goal?: Goal;
  /** The goal with the log in Kafka, if it differs. */
  goalOnKafka?: Goal;
}

export type Goal = { atLeast: number } | { atMost: number };

export const measurements: readonly Measurement[] = [
  { name: 'get-1', label: 'GET row, alone', workload: 'get', connections: 1, unit: 'ms p50' },
  {
    name: 'get-32',
    label: 'GET row, 32 connections',
    workload: 'get',
    connections: 32,
    unit: 'requests/s',
    goal: { atLeast: 1 },
  },
  {
    name: 'list-4',
    label: 'list in pages of 1,000, 4 connections',
    workload: 'list',
    connections: 4,
    unit: 'rows/s',
    goal: { atLeast: 1.1 },
  },
  {
    name: 'patch-1',
    label: 'PATCH row, alone',
    workload: 'patch',
    connections: 1,
    unit: 'ms p50',
    goal: { atMost: 2.2 },
    goalOnKafka: { atMost: 3.5 },
  },
  {
    name: 'patch-32',
    label: 'PATCH row, 32 connections',
    workload: 'patch',
    connections: 32,
    unit: 'requests/s',
    goal: { atLeast: 1 },
    goalOnKafka: { atLeast: 0.6 },
  },
  {
    name: 'patch-128',
    label: 'PATCH row, 128 connections',
    workload: 'patch',
    connections: 128,
    unit: 'requests/s',
    goal: { atLeast: 1.5 },
  },
  {
    name: 'batch-1',
    label: 'a batch of 1,000 patches, alone',
    workload: 'batch',
    connections: 1,
    unit: 'rows/s',
    goal: { atLeast: 0.6 },
  },
  {
    name: 'add-8',
    label: 'add 1,000 rows a request, 8 connections',
    workload: 'add',
    connections: 8,
    unit: 'rows/s',
    goal: { atLeast: 0.8 },
    goalOnKafka: { atLeast: 0.6 },
  },
];

/** The service's memory must stay below this for the whole run. */
export const memoryGoalMiB = 300;
