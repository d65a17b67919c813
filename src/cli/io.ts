/** What a command may touch of its process; tests hand in their own. */
export interface Io {
  out(text: string): void;
  /** Resolves when the reader of standard output has caught up: what writes much waits for it. */
  drained(): Promise<void> | undefined;
  err(text: string): void;
  readonly env: NodeJS.ProcessEnv;
  /** Whether a person reads standard output, and standard error. */
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** How wide the terminal is now. */
  outColumns?(): number | undefined;
  /** Asks on the terminal; null when there is none. */
  ask(question: string): Promise<string | null>;
  /** Resolves at Ctrl-C or SIGTERM. */
  readonly interrupted: AbortSignal;
}

/** The command ends with this exit code; the text goes to standard error. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** Wrong use of a command: exit 2. */
export function usage(message: string): CommandError {
  return new CommandError(message, 2);
}

/** Refused or failed: exit 1. */
export function failed(message: string): CommandError {
  return new CommandError(message, 1);
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
