/** Which tokens see the upload location in the job of a creation: its URL needs no token (docs/reference/tokens.md). */
import { randomUUIDv7 } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { TokenLimits } from '../../commands/teams.ts';
import { formatJobId } from '../../src/storage/security/job-id.ts';
import { partitionCount, partitionOf } from '../../src/log/partition.ts';
import { useApi } from '../support/api.ts';
import { useOperator } from '../support/operator.ts';
import { recordUpload } from '../support/recorded-upload.ts';
import { sendBytes } from '../support/uploads.ts';

const { api } = useApi();
const operator = useOperator({ api });

test.each<[string, TokenLimits, boolean]>([
  ['all of the team', {}, true],
  ["the upload's app", { appId: 'a' }, true],
  ['another app', { appId: 'b' }, false],
  ['reading only', { readOnly: true }, false],
  ["reading the upload's app only", { readOnly: true, appId: 'a' }, false],
])('a token for %s', async (_, limits, isTold) => {
  const team = await api().createTeam();
  const commandId = randomUUIDv7();
  const { uploadId } = await recordUpload(
    operator().log,
    team,
    { sizeMax: 1000, lifeMs: 3_600_000, unclaimedLifeMs: 3_600_000 },
    { app: 'a', commandId },
  );
  const partition = partitionOf(team.id, partitionCount);
  const jobId = formatJobId(operator().keys, {
    teamId: team.id,
    partition,
    commandId,
    notAfter: Date.now() + 60_000,
    rows: null,
    requestTag: 0n,
  });
  const { client } = await team.createToken(limits);
  const { result, status } = (await client.get(`/jobs/${jobId}`)).json.data;
  expect([status, result.uploadID]).toEqual(['succeeded', uploadId]);
  if (isTold) expect(await sendBytes({ location: result.uploadLocation }, 'bytes')).toBe('200');
  else expect(Object.keys(result)).toEqual(['uploadID']);
});
