/** The known name that is most like a given one; null when none is like it. */
export function nearest(given: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const one of known) {
    if (Math.abs(one.length - given.length) >= least) continue;
    const distance = editDistance(given.toLowerCase(), one.toLowerCase());
    if (distance < least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
