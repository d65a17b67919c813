/** How long an act waits for a step: what takes seconds here may take a minute on a machine with better things to do. */
export const PATIENTLY = { timeoutMs: 120_000 };
