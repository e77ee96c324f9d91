/** Jobs as clients see them. */
import type { Answer, Client } from './client.ts';
import { sleepUntil } from './server.ts';

/** Polls a job until it has ended. Resolves to the last answer. */
export async function untilDone(client: Client, jobId: string): Promise<Answer> {
  let answer: Answer | undefined;
  await sleepUntil(async () => {
    answer = await client.get(`/jobs/${jobId}`);
    return answer.json.data?.status !== 'running';
  }, `the job ${jobId} is done`);
  return answer!;
}
