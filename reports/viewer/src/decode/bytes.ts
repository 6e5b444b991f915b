// bytes.ts - the bounded reader over superblock and index; every length is checked here. Integers are little-endian.
// 64-bit values are refused when a number cannot hold them exactly.

export class Damaged extends Error {
  /** named: the text says already which chunk it is. */
  constructor(
    text: string,
    readonly named = false,
  ) {
    super(text);
  }
}

export class Bytes {
  private readonly view: DataView;
  private at = 0;

  constructor(data: Uint8Array) {
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  private take(length: number): number {
    if (length > this.view.byteLength - this.at) throw new Damaged('the data ends too early');
    const at = this.at;
    this.at += length;
    return at;
  }

  u8(): number {
    return this.view.getUint8(this.take(1));
  }

  u16(): number {
    return this.view.getUint16(this.take(2), true);
  }

  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  u64(): number {
    return exact(this.view.getBigUint64(this.take(8), true));
  }

  i64(): number {
    return exact(this.view.getBigInt64(this.take(8), true));
  }
}

function exact(value: bigint): number {
  const n = Number(value);
  if (!Number.isSafeInteger(n)) throw new Damaged('a 64-bit number is too large');
  return n;
}
