import { expect, test } from '@jest/globals';
import { namesOfTokens } from '../../../console/src/operator/token-names.ts';
import { showTime } from '../../../console/src/ui/format.ts';

test('names that several tokens have, or none, come with the time of creation and the end of the ID', () => {
  const made = (ms: number, end: string): string => {
    const hex = ms.toString(16).padStart(12, '0');
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-0123456789${end}`;
  };
  const at = Date.UTC(2026, 2, 1, 10, 30);
  const tokens = [
    { id: made(at, 'ab'), name: 'unnamed' }, { id: made(at, 'ac'), name: 'shop' }, { id: made(at, 'ad'), name: 'twice' }, { id: made(at + 3_600_000, 'ae'), name: 'twice' },
    { id: '123e4567-e89b-42d3-a456-426614174000', name: '' },
  ];
  const [first, later] = [showTime(new Date(at).toISOString()), showTime(new Date(at + 3_600_000).toISOString())];
  expect([...namesOfTokens(tokens).values()]).toEqual([
    `unnamed, created ${first} (…89ab)`, 'shop', `twice, created ${first} (…89ad)`, `twice, created ${later} (…89ae)`, 'unnamed, …4000',
  ]);
});
