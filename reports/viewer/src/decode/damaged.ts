// damaged.ts - what is wrong with a file or a chunk of it.

export class Damaged extends Error {
  /** named: the text says already which chunk it is. */
  constructor(
    text: string,
    readonly named = false,
  ) {
    super(text);
  }
}
