import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inspect } from 'node:util';
import type { Parsed } from './address.ts';

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

const REFERENCE = /\$\{([^}]*)\}/g;

export function hasReference(text: string): boolean {
  return text.includes('${');
}

/**
 * Fills in `${env:NAME}` and `${file:PATH}` (a path is taken from the YAML's folder; one line end at the file's end
 * is dropped). The message of a failure names the reference, never a value.
 */
export function fillReferences(text: string, file: string, env: NodeJS.ProcessEnv): Parsed<string> {
  let fault: string | null = null;
  const filled = text.replace(REFERENCE, (whole, inner: string) => {
    const colon = inner.indexOf(':');
    const kind = colon < 0 ? inner : inner.slice(0, colon);
    const name = colon < 0 ? '' : inner.slice(colon + 1).trim();
    if ((kind !== 'env' && kind !== 'file') || name === '') {
      fault ??= `${whole} is no reference; write \${env:NAME} or \${file:PATH}`;
      return '';
    }
    if (kind === 'env') {
      const value = env[name];
      if (value === undefined) fault ??= `${whole}: the environment has no variable ${name}`;
      return value ?? '';
    }
    try {
      return readFileSync(resolve(dirname(file), name), 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      fault ??= `${whole}: the file can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
      return '';
    }
  });
  return fault === null ? { ok: true, value: filled } : { ok: false, message: fault };
}
