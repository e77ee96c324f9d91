/** Jobs: requests that are answered before their outcome is known. */
import { Jobs } from '../../api/http/submit/jobs.ts';
import { addJobRoutes } from '../../api/http/jobs/jobs.ts';
import { forgetJobs } from '../../api/jobs/job-notes.ts';
import { outcomeLife } from '../../log/outcomes/recorded-outcome.ts';
import type { Feature } from '../feature.ts';

export const jobsFeature: Feature = (parts) => {
  const { database, log, queries, jobNotes: notes } = parts;
  return {
    routes: (app) =>
      addJobRoutes(app, { ...parts, ...queries.tables, uploads: queries.uploads, jobs: new Jobs({ ...parts, notes }) }),
    maintenance: [
      {
        name: 'old_jobs',
        repeats: true,
        isRare: true,
        step: () => forgetJobs(database.pool, log.now() - outcomeLife),
      },
    ],
  };
};
