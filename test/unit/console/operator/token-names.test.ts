import { expect, test } from '@jest/globals';
import { namesOfTokens } from '../../../../console/src/operator/token-names.ts';
import { showTime } from '../../../../console/src/ui/format.ts';

test('tokens without a name, or with the same name, are shown with their time of creation and last characters', () => {
  const [created, later] = ['2026-03-01T10:30:00.000Z', '2026-03-01T11:30:00.000Z'];
  const tokens = [
    { id: 'id-89ab', name: 'unnamed', created, endsIn: null },
    { id: 'id-89ac', name: 'shop', created, endsIn: '9c41f0' },
    { id: 'id-89ad', name: 'twice', created, endsIn: '9c41f1' },
    { id: 'id-89ae', name: 'twice', created: later, endsIn: '9c41f2' },
    { id: 'id-4000', name: '', created, endsIn: null },
  ];
  expect([...namesOfTokens(tokens).values()]).toEqual([
    `unnamed, created ${showTime(created)} (ID …89ab)`,
    'shop',
    `twice, created ${showTime(created)} (…9c41f1)`,
    `twice, created ${showTime(later)} (…9c41f2)`,
    `unnamed, created ${showTime(created)} (ID …4000)`,
  ]);
});
