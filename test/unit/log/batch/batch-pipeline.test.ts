import { expect, test } from '@jest/globals';
import { BatchPipeline, type BatchStage } from '../../../../src/log/batch/batch-pipeline.ts';

/** A stage that writes down what is done, and stores when it is told to. */
class Stage implements BatchStage<number, number[]> {
  readonly done: string[] = [];
  readonly stores: PromiseWithResolvers<boolean>[] = [];

  open(): number[] {
    return [];
  }

  hasRoom(batch: number[]): boolean {
    return batch.length < 3;
  }

  put(batch: number[], item: number): void {
    batch.push(item);
  }

  async plan(_batch: number[], items: readonly number[]): Promise<void> {
    this.done.push(`plan ${items.join()}`);
  }

  async replan(batch: number[], asPlanned: boolean): Promise<void> {
    this.done.push(`replan ${batch.join()}, ${asPlanned}`);
  }

  store(batch: number[]): Promise<boolean> {
    this.done.push(`store ${batch.join()}`);
    const store = Promise.withResolvers<boolean>();
    this.stores.push(store);
    return store.promise;
  }

  rest(): void {
    this.done.push('rest');
  }

  /** What was done since the last look, once nothing more happens by itself. */
  async look(): Promise<string[]> {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return this.done.splice(0);
  }
}

test('events that arrive while a batch is stored are planned at once, and stored after that batch', async () => {
  const stage = new Stage();
  const pipeline = new BatchPipeline(stage);
  pipeline.push([1, 2]);
  expect(await stage.look()).toEqual(['plan 1,2', 'store 1,2']);
  pipeline.push([3]);
  expect(await stage.look()).toEqual(['plan 3']);
  pipeline.push([4, 5, 6]);
  expect(await stage.look()).toEqual(['plan 4,5']);
  stage.stores[0]!.resolve(true);
  expect(await stage.look()).toEqual(['replan 3,4,5, true', 'store 3,4,5', 'plan 6']);
  stage.stores[1]!.resolve(false);
  expect(await stage.look()).toEqual(['replan 6, false', 'store 6']);
  stage.stores[2]!.resolve(true);
  expect(await stage.look()).toEqual(['rest']);
  await pipeline.idle();
});

test('the pipeline begins anew after a pause', async () => {
  const stage = new Stage();
  const pipeline = new BatchPipeline(stage);
  for (const item of [1, 2]) {
    pipeline.push([item]);
    expect(await stage.look()).toEqual([`plan ${item}`, `store ${item}`]);
    stage.stores.at(-1)!.resolve(true);
    expect(await stage.look()).toEqual(['rest']);
  }
});

test('events that are in no batch yet can be taken back', async () => {
  const stage = new Stage();
  const pipeline = new BatchPipeline(stage);
  pipeline.push([1, 2, 3]);
  await stage.look();
  pipeline.push([4, 5, 6, 7]);
  await stage.look();
  expect(pipeline.takeWaiting()).toEqual([7]);
  stage.stores[0]!.resolve(true);
  expect(await stage.look()).toEqual(['replan 4,5,6, true', 'store 4,5,6']);
  stage.stores[1]!.resolve(true);
  expect(await stage.look()).toEqual(['rest']);
});
