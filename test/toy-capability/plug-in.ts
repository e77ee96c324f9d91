/** Plugs the capability of this folder into a copy of the repository, as an engineer would plug in a real one. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Tree } from '../mutation/tree.ts';

interface Line {
  readonly list: string;
  /** What the list begins with. */
  readonly begin: string;
  readonly line: string;
  readonly from: string;
}

/** All that the capability changes outside of its folder: one line in each list, and its import. */
export const lines = {
  events: {
    list: 'src/language/events/event.ts',
    begin: 'const eventDefinitions = [',
    line: '...counterEvents,',
    from: '../../../test/toy-capability/counters/counter-events.ts',
  },
  models: {
    list: 'projections/models.ts',
    begin: 'listModels({',
    line: 'counters,',
    from: '../test/toy-capability/counters/counters.model.ts',
  },
  features: {
    list: 'src/app/features.ts',
    begin: 'export const features = {',
    line: 'counters: countersFeature,',
    from: '../../test/toy-capability/counters/counters.feature.ts',
  },
} as const satisfies Readonly<Record<string, Line>>;

export type ListName = keyof typeof lines;

/** A copy of the repository. */
export class PluggedTree {
  readonly #tree: Tree;
  readonly #unplugged = new Map<string, string>();

  private constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** Copies the repository into an empty folder. */
  static async copyTo(folder: string): Promise<PluggedTree> {
    const tree = await Tree.copyTo(folder);
    // Incremental: a list that little depends on is compiled again in no time.
    const settings = {
      extends: './tsconfig.json',
      compilerOptions: { incremental: true, tsBuildInfoFile: 'tsconfig.plugged.tsbuildinfo' },
      include: ['src/app', 'test/toy-capability/counters'],
      exclude: [],
    };
    tree.write('tsconfig.plugged.json', JSON.stringify(settings));
    return new PluggedTree(tree);
  }

  /** Adds the lines to these lists, and to no others. Throws if one has changed so that it is not found. */
  plugInto(lists: readonly ListName[]): void {
    for (const [list, text] of this.#unplugged) this.#tree.write(list, text);
    for (const { list, begin, line, from } of lists.map((name) => lines[name])) {
      const text = this.#tree.read(list);
      this.#unplugged.set(list, text);
      const [before, after, ...more] = text.split(begin);
      if (after === undefined || more.length > 0) throw new Error(`${list} has no single ${JSON.stringify(begin)}`);
      const name = /\w+(?=,$)/.exec(line)![0];
      this.#tree.write(list, `import { ${name} } from '${from}';\n${before}${begin}\n  ${line}${after}`);
    }
  }

  /** Writes the tables of the read model anew (`npm run tables`). */
  async writeTables(): Promise<void> {
    await promisify(execFile)(process.execPath, ['projections/write-tables.ts'], { cwd: this.#tree.folder });
  }

  /** What the compiler says; empty if it finds no error. */
  async compile(): Promise<string> {
    const args = ['node_modules/typescript-7/bin/tsc', '-p', 'tsconfig.plugged.json'];
    return promisify(execFile)(process.execPath, args, { cwd: this.#tree.folder }).then(
      ({ stdout }) => stdout,
      ({ stdout }: { readonly stdout: string }) => stdout,
    );
  }
}
