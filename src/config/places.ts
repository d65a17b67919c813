import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Fault } from './types.ts';

export type Path = readonly (string | number)[];

/** A parsed YAML file that can tell where a path stands in it. */
export class Places {
  readonly file: string;
  readonly document: Document;
  readonly #lines = new LineCounter();
  readonly #text: string;

  constructor(file: string, text: string) {
    this.file = file;
    this.#text = text;
    this.document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, uniqueKeys: true });
  }

  /** Syntax errors, duplicate keys among them. */
  syntaxFaults(): Fault[] {
    return this.document.errors.map((error) => {
      const message =
        error.code === 'DUPLICATE_KEY' ? 'this key stands there twice; keep one' : sentence(error.message);
      return this.#faultAt(error.pos[0], [], message);
    });
  }

  /** At the value of the path, or at the nearest place above it when there is none. */
  fault(path: Path, message: string): Fault {
    return this.#faultAt(this.#offset(path, false), path, message);
  }

  /** At the key itself. */
  keyFault(path: Path, message: string): Fault {
    return this.#faultAt(this.#offset(path, true), path, message);
  }

  #faultAt(offset: number, path: Path, message: string): Fault {
    // a document that ends in a line break has its end on the line behind; people look at the last one with text
    const at = Math.min(offset, this.#text.trimEnd().length);
    const { line, col } = this.#lines.linePos(at);
    return {
      file: this.file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      path: path.join('.'),
      message,
    };
  }

  #offset(path: Path, key: boolean): number {
    let node: unknown = this.document.contents;
    let offset = start(node) ?? 0;
    for (const [index, part] of path.entries()) {
      if (isMap(node)) {
        const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part));
        if (pair === undefined) return offset;
        const keyStart = start(pair.key);
        offset =
          key && index === path.length - 1 ? (keyStart ?? offset) : (start(pair.value) ?? keyStart ?? offset);
        node = pair.value;
      } else if (isSeq(node)) {
        const item = node.items[Number(part)];
        if (item === undefined) return offset;
        offset = start(item) ?? offset;
        node = item;
      } else {
        return offset;
      }
    }
    return offset;
  }
}

function start(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function sentence(message: string): string {
  return message.split('\n')[0]?.trim() ?? message;
}
