/** The answer to a request that goes on as a job. */
import { z } from 'zod';
import { jsonContent, linksTo, type Answer, type Link } from '../openapi/operation.ts';

export const jobId = z.string().meta({ description: 'The ID of the job.' });
export const exampleJobId = 'AgEFAZnC9G0eejCMVR8KKzxNXgGZwvRtHnownFUfCis8TV4BmcL0bR4AAAAAAGSp0kMhSVPc0NAVm3oQ';

/** For an answer of 202. */
const jobLinks: readonly Link[] = linksTo(['getJob', 'getJobProgress'], { jobID: '$response.body#/data/jobID' });

export const accepted = {
  description: 'The request continues as a job. `Location` is the URL of the job.',
  headers: ['Location', 'Retry-After'],
  headersAtTimes: ['Tablog-Short-Lines', 'Tablog-Notes'],
  body: jsonContent(z.strictObject({ data: z.strictObject({ jobID: jobId }) }), {
    accepted: { data: { jobID: exampleJobId } },
  }),
  links: jobLinks,
} as const satisfies Answer;
