import { dirname, isAbsolute, resolve } from 'node:path';
import { inspect } from 'node:util';
import { readText } from './text-file.ts';

/**
 * A text that must not be seen: it prints as `[redacted]` wherever it is formatted, logged or turned into JSON.
 * Only `reveal()` gives it, at the place that needs it.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return '[redacted]';
  }

  [inspect.custom](): string {
    return '[redacted]';
  }
}

const REFERENCE = /\$\{([^}]*)(\}?)/g;
/** Of a file that a reference names; secrets are short. */
const LARGEST_REFERENCED_BYTES = 64 * 1024;

export function hasReference(text: string): boolean {
  return text.includes('${');
}

export type Filled =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly messages: readonly string[] };

/**
 * Fills in `${env:NAME}` and `${file:PATH}` (a path is taken from the YAML's folder; one line end at the file's end
 * is dropped). The message of a failure names the reference, never a value.
 */
export function fillReferences(text: string, file: string, env: NodeJS.ProcessEnv): Filled {
  const messages = new Set<string>();
  const fault = (message: string): string => {
    messages.add(message);
    return '';
  };
  const filled = text.replace(REFERENCE, (whole, inner: string, close: string) => {
    if (close === '') return fault(`a reference has no closing brace; write \${env:NAME} or \${file:PATH}`);
    const colon = inner.indexOf(':');
    const kind = colon < 0 ? inner : inner.slice(0, colon);
    const name = colon < 0 ? '' : inner.slice(colon + 1).trim();
    if ((kind !== 'env' && kind !== 'file') || name === '') {
      return fault(`${whole} is no reference; write \${env:NAME} or \${file:PATH}`);
    }
    if (kind === 'env') return env[name] ?? fault(`${whole}: the environment has no variable ${name}`);
    const read = readText(resolve(dirname(file), name), LARGEST_REFERENCED_BYTES);
    if (read.ok) return read.text.replace(/\r?\n$/, '');
    const from = isAbsolute(name) ? '' : ` (the path is taken from the folder of ${file})`;
    return fault(`${whole}: ${read.message}${from}`);
  });
  return messages.size === 0 ? { ok: true, value: filled } : { ok: false, messages: [...messages] };
}
