// bytes.ts - the one bounded reader over untrusted bytes; every length is checked here and nowhere else.
// Integers are little-endian. 64-bit values are refused when a number cannot hold them exactly.

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

  constructor(readonly data: Uint8Array) {
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  get left(): number {
    return this.data.length - this.at;
  }

  private take(length: number): number {
    if (length > this.left) throw new Damaged('the data ends too early');
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

  f64(): number {
    return this.view.getFloat64(this.take(8), true);
  }

  skip(length: number): void {
    this.take(length);
  }

  slice(length: number): Uint8Array {
    const at = this.take(length);
    return this.data.subarray(at, at + length);
  }

  varint(): number {
    const short = this.data[this.at]; // most numbers are one byte; undefined at the end
    if (short !== undefined && short < 0x80) {
      this.at++;
      return short;
    }
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) throw new Damaged('a number is too large');
        return value;
      }
      scale *= 128;
    }
    throw new Damaged('a number does not end');
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

/** The rest of c as columns of the lengths that stand before them; nothing may follow. */
export function columnsOf(c: Bytes, count: number): Bytes[] {
  const lengths = Array.from({ length: count }, () => c.varint());
  const columns = lengths.map((length) => new Bytes(c.slice(length)));
  if (c.left > 0) throw new Damaged('there are bytes after the columns');
  return columns;
}

export function allRead(columns: Bytes[]): void {
  if (columns.some((c) => c.left > 0)) throw new Damaged('a column is too long');
}

function exact(value: bigint): number {
  const n = Number(value);
  if (!Number.isSafeInteger(n)) throw new Damaged('a 64-bit number is too large');
  return n;
}
