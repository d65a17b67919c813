import { LineCounter, parseDocument } from 'yaml';
import { syntaxFaults } from './syntax-faults.ts';
import type { Fault } from './types.ts';
import { type Tree, treeOf } from './yaml-tree.ts';

export type Path = readonly (string | number)[];

/** A parsed YAML file that can tell where a path stands in it. */
export class Places {
  readonly file: string;
  /** null when the text is no YAML. */
  readonly tree: Tree | null;
  /** Of the YAML itself: what keeps it from being read, or else keys that stand twice, dead aliases and the like. */
  readonly faults: readonly Fault[];
  readonly #lines = new LineCounter();
  readonly #lastText: number;

  constructor(file: string, text: string) {
    this.file = file;
    // a byte order mark is no column
    const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
    this.#lastText = plain.trimEnd().length;
    const document = parseDocument(plain, {
      lineCounter: this.#lines,
      prettyErrors: false,
      // looked for in the tree: the library compares every key with every other
      uniqueKeys: false,
      logLevel: 'error',
    });
    const later = document.errors.find(({ code }) => code === 'MULTIPLE_DOCS');
    const syntax = document.errors.filter(({ code }) => code !== 'MULTIPLE_DOCS');
    const faults = syntaxFaults(document, syntax, plain).map(({ at, message }) =>
      this.#faultAt(at, [], message),
    );
    if (later !== undefined) {
      const message =
        'a second document begins here; the file is one document, so remove the --- or what follows';
      faults.push(this.#faultAt(later.pos[0], [], message));
    }
    if (syntax.length > 0) {
      this.tree = null;
    } else {
      const { tree, faults: found } = treeOf(document.contents);
      const empty = tree.kind === 'leaf' && tree.value === null;
      this.tree = empty && later !== undefined ? { kind: 'unknown', at: 0 } : tree;
      faults.push(...found.map(({ at, path, message }) => this.#faultAt(at, path, message)));
    }
    this.faults = faults;
  }

  /** At the value of the path, or at the nearest place above it when there is none. */
  fault(path: Path, message: string): Fault {
    return this.#faultAt(this.#offset(path, false), path, message);
  }

  /** At the key itself. */
  keyFault(path: Path, message: string): Fault {
    return this.#faultAt(this.#offset(path, true), path, message);
  }

  /** Line of the value of the path, from 1. */
  lineOf(path: Path): number {
    return this.fault(path, '').line;
  }

  #faultAt(offset: number, path: Path, message: string): Fault {
    // a document that ends in a line break has its end on the line behind; people look at the last one with text
    const { line, col } = this.#lines.linePos(Math.min(offset, this.#lastText));
    return {
      file: this.file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      path: path.join('.'),
      message,
    };
  }

  #offset(path: Path, key: boolean): number {
    let here = this.tree;
    let offset = here?.at ?? 0;
    for (const [index, part] of path.entries()) {
      if (here?.kind === 'map') {
        const entry = here.entries.get(String(part));
        if (entry === undefined) return offset;
        offset = key && index === path.length - 1 ? entry.keyAt : entry.tree.at;
        here = entry.tree;
      } else if (here?.kind === 'list') {
        const item: Tree | undefined = here.items[Number(part)];
        if (item === undefined) return offset;
        offset = item.at;
        here = item;
      } else {
        return offset;
      }
    }
    return offset;
  }
}
