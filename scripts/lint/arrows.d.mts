/** Folder -> what it may import. */
export const arrows: Readonly<Record<string, readonly string[]>>;
export function judge(from: string, to: string, typeOnly: boolean): string | undefined;
declare const plugin: object;
export default plugin;
