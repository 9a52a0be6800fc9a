/** A fault that is planted: a text of a file and what stands there instead. Used on copies of the checkout, never on the checkout
 *  itself. */

export type Edit = Readonly<{
  /** From the root of the repository. */
  file: string;
  /** There once. */
  find: string;
  replace: string;
}>;

/** @throws Error when the text to be replaced is not there once: the code has changed, and the fault must be described anew */
export function planted(source: string, { file, find, replace }: Edit): string {
  const count = source.split(find).length - 1;
  if (count !== 1) throw new Error(`${file} has this ${count} times instead of once: ${find}`);
  return source.replace(find, () => replace);
}
