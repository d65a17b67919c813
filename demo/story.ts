import { writeFileSync } from 'node:fs';
import { styleText } from 'node:util';

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Thrown by a failed check: the demo stops there, because what follows would rest on it. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
}

type Style = Parameters<typeof styleText>[0];

/** Tells the demo on the terminal as it goes and keeps its checks and figures for `--json`. */
export class Story {
  readonly #checks: Check[] = [];
  readonly #figures: Record<string, unknown> = {};
  readonly #begun = performance.now();

  get checks(): readonly Check[] {
    return this.#checks;
  }

  /** Opens a chapter. */
  chapter(title: string): void {
    process.stdout.write(`\n${paint('bold', title)}${paint('dim', `  ${this.#clock()}`)}\n`);
  }

  say(line: string): void {
    process.stdout.write(`  ${line}\n`);
  }

  /** Shows output of a tool, cut to a screen's height. */
  show(lines: readonly string[], most = 8): void {
    for (const line of lines.slice(0, most)) process.stdout.write(paint('dim', `    ${line}\n`));
    if (lines.length > most) process.stdout.write(paint('dim', `    … ${lines.length - most} more lines\n`));
  }

  figure(name: string, value: unknown): void {
    this.#figures[name] = value;
  }

  /** @throws CheckFailed when it does not hold */
  check(name: string, ok: boolean, detail: string): void {
    this.#checks.push({ name, ok, detail });
    const mark = ok ? paint('green', '✔') : paint('red', '✘');
    process.stdout.write(`  ${mark} ${name}${paint('dim', `  ${detail}`)}\n`);
    if (!ok) throw new CheckFailed(`${name}: ${detail}`);
  }

  /** The last line and the file of `--json`; gives the exit code. */
  end(error: unknown, jsonFile: string | undefined): number {
    const failed = error ?? this.#checks.find((check) => !check.ok);
    this.figure('seconds', Math.round((performance.now() - this.#begun) / 1000));
    if (error !== undefined && !(error instanceof CheckFailed)) {
      const text = error instanceof Error ? error.message : String(error);
      this.#checks.push({ name: 'the demo runs to its end', ok: false, detail: text });
    }
    const ok = failed === undefined;
    if (jsonFile !== undefined) {
      const report = { ok, checks: this.#checks, figures: this.#figures };
      writeFileSync(jsonFile, `${JSON.stringify(report, null, 2)}\n`);
    }
    const bad = this.#checks.filter((check) => !check.ok).map((check) => check.name);
    process.stdout.write(
      ok
        ? `\n${paint('green', `demo: passed ${this.#checks.length} checks`)}\n`
        : `\n${paint('red', `demo: FAILED at: ${bad.join('; ')}`)}\n`,
    );
    return ok ? 0 : 1;
  }

  #clock(): string {
    return `${((performance.now() - this.#begun) / 1000).toFixed(0)} s`;
  }
}

function paint(style: Style, text: string): string {
  return process.stdout.isTTY && process.env.NO_COLOR === undefined ? styleText(style, text) : text;
}
