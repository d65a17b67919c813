/** What every file in `scenarios/` exports as `scenario`. */
export interface Scenario {
  readonly name: string;
  /** One sentence for the list. */
  readonly about: string;
  /**
   * Runs to the end and returns the figures, as JSON will hold them. A result with `ok: false` makes the
   * command exit with 1.
   */
  run(options: ScenarioOptions): Promise<ScenarioResult>;
}

export interface ScenarioOptions {
  /** Progress and tables for the terminal. */
  readonly log: (line: string) => void;
  /** Fewer rounds and less data: to see that it works, not to be quoted. */
  readonly quick: boolean;
  /** Set at the first Ctrl-C: end what was started and reject. */
  readonly signal: AbortSignal;
  /** Arguments that the runner doesn't know, for the scenario's own flags. */
  readonly args: readonly string[];
}

export interface ScenarioResult {
  /** Whether the scenario's own limits were kept; absent when it has none. */
  readonly ok?: boolean;
  readonly [figure: string]: unknown;
}
