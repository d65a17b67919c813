import { SeededRandom } from './random.ts';

/**
 * When Isthmus is killed:
 *
 *     produce    a Produce to the topic is forwarded, its reply kept back; the kill comes at once
 *     replied    as before, and the broker has replied, so that it is stored for certain
 *     late       a Produce lies before a broker that stands still (SIGSTOP); it goes on while the next instance starts
 *     markers    a WriteTxnMarkers is forwarded, its reply kept back
 *     run        as before, with more than one marker of a partition in it
 *     frozen     as before, and the broker is stopped (SIGSTOP) while it works at the run; it goes on while the next
 *                instance looks at the log already
 *     torn       the broker has the first part of a Produce and never the rest
 *     state      a write to the state topic is forwarded, its reply kept back
 *     recovery   soon after the start before, at any point of it
 *     random     at any moment
 */
export type KillKind =
  | 'produce'
  | 'replied'
  | 'late'
  | 'markers'
  | 'run'
  | 'frozen'
  | 'torn'
  | 'state'
  | 'recovery'
  | 'random';

export interface Kill {
  readonly number: number;
  readonly kind: KillKind;
  /** Requests of the kind that pass before the one that is held: the mirror shall get on between the kills. */
  readonly pass: number;
  /** Milliseconds between the moment and the kill (of a `frozen`: eighths of the run), and how long a broker then stands still that is stopped. */
  readonly waitMs: number;
  readonly frozenMs: number;
}

/** Out of 200. Half of them at least have a mirror's append in flight, a tenth a run of markers. */
const SHARES: readonly (readonly [KillKind, number])[] = [
  ['produce', 20],
  ['replied', 22],
  ['late', 16],
  ['markers', 20],
  ['run', 24],
  ['frozen', 12],
  ['torn', 12],
  ['state', 14],
  ['recovery', 34],
  ['random', 26],
];

/** The kills of a seed, in their order; equal arguments give an equal plan. */
export function planKills(seed: number, count: number): Kill[] {
  const kinds: KillKind[] = [];
  let share = 0;
  for (const [kind, parts] of SHARES) {
    share += parts;
    while (kinds.length < Math.round((share * count) / 200)) kinds.push(kind);
  }
  const shuffled = new SeededRandom(seed, count).shuffled(kinds);
  return shuffled.map((kind, i) => killOf(seed, i + 1, kind));
}

/** Waits of a kill depend on the seed and its number alone, so that one can be repeated. */
export function killOf(seed: number, number: number, kind: KillKind): Kill {
  const random = new SeededRandom(seed, number, 7);
  const waitMs = waitOf(kind, random);
  return { number, kind, pass: random.between(0, 250), waitMs, frozenMs: random.between(300, 1_800) };
}

function waitOf(kind: KillKind, random: SeededRandom): number {
  switch (kind) {
    case 'produce':
    case 'markers':
    case 'state':
      return random.between(0, 6);
    case 'run':
      return random.between(0, 25);
    case 'frozen':
      return random.between(0, 8);
    case 'replied':
    case 'late':
    case 'torn':
      return 0;
    case 'recovery':
      return random.between(50, 5_000);
    case 'random':
      return random.between(500, 6_000);
    default:
      return kind satisfies never;
  }
}
