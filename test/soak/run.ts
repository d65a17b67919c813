import { readdir } from 'node:fs/promises';

/** `npm run test:soak -- NAME [flags]`: long fault loops, each a file in `loops/` that exports `run` and `about`. */
interface Loop {
  readonly about: string;
  /** Gives the exit code. */
  run(args: readonly string[]): Promise<number>;
}

const FOLDER = new URL('./loops/', import.meta.url);

async function main(): Promise<number> {
  const [name, ...args] = process.argv.slice(2);
  const names = (await readdir(FOLDER))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3));
  if (name === undefined || !names.includes(name)) {
    console.error('usage: npm run test:soak -- NAME [flags]');
    for (const one of names.toSorted()) console.error(`  ${one.padEnd(8)} ${(await load(one)).about}`);
    return 2;
  }
  return (await load(name)).run(args);
}

async function load(name: string): Promise<Loop> {
  return (await import(new URL(`${name}.ts`, FOLDER).href)) as Loop;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
