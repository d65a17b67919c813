/** `{ bootstrap: 'x', to: undefined }` becomes `['--bootstrap', 'x']`: what is undefined is left out. */
export function flags(named: Readonly<Record<string, string | number | undefined>>): string[] {
  return Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, `${value}`],
  );
}
