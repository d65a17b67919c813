/**
 * Stands where a value could not be had because of a fault that was told already. Rules judge what is known and leave
 * the rest alone, so that one mistake neither hides others nor brings up follow-ups.
 */
export const unknown: unique symbol = Symbol('unknown');
export type Unknown = typeof unknown;

/** The shape of T in which any part may be unknown. */
export type Known<T> = T extends readonly (infer E)[]
  ? readonly (Known<E> | Unknown)[]
  : T extends object
    ? { readonly [K in keyof T]: Known<T[K]> | Unknown }
    : T;

export function isKnown<T>(value: T): value is Exclude<T, Unknown> {
  return value !== unknown;
}

/** What is known of a list that may be unknown as a whole or in parts. */
export function knownItems<T>(list: readonly T[] | Unknown | undefined): Exclude<T, Unknown>[] {
  return list === undefined || !isKnown(list) ? [] : list.filter(isKnown);
}

/** Whether nothing in the list, the list itself included, is unknown. */
export function isWhole(list: readonly unknown[] | Unknown | undefined): boolean {
  return list === undefined || (isKnown(list) && list.every(isKnown));
}
