// sorting.ts - the first of very many records in an order: places in chunks with their keys; what is beyond ROWS_MAX is dropped
// now and then, so that memory does not grow with the trace.
export const ROWS_MAX = 200000;

export interface Place {
  entry: number; // number of the chunk
  index: number; // in the chunk
}

export class Order {
  total = 0;
  private n = 0;
  private entry = new Uint32Array(4096);
  private index = new Uint32Array(4096);
  private key = new Float64Array(4096);
  private time = new Float64Array(4096);
  private isSorted = true;

  constructor(
    private readonly descending: boolean,
    private readonly most = ROWS_MAX,
  ) {}

  get kept(): number {
    return Math.min(this.n, this.most);
  }

  /** Among equal keys the earlier comes first. */
  add(entry: number, index: number, key: number, time: number): void {
    this.total++;
    if (this.n === 2 * this.most) this.sort();
    if (this.n === this.entry.length) this.grow();
    this.entry[this.n] = entry;
    this.index[this.n] = index;
    this.key[this.n] = key;
    this.time[this.n++] = time;
    this.isSorted = false;
  }

  private grow(): void {
    const larger = <T extends Uint32Array | Float64Array>(a: T): T => {
      const b = new (a.constructor as new (n: number) => T)(2 * a.length);
      b.set(a);
      return b;
    };
    [this.entry, this.index] = [larger(this.entry), larger(this.index)];
    [this.key, this.time] = [larger(this.key), larger(this.time)];
  }

  /** In order, and no more than can be kept. */
  sort(): void {
    if (this.isSorted) return;
    const { key, time } = this;
    const sign = this.descending ? -1 : 1;
    const order = Uint32Array.from({ length: this.n }, (_, i) => i);
    order.sort((a, b) => sign * (key[a]! - key[b]!) || time[a]! - time[b]!);
    const kept = order.subarray(0, this.most);
    const taken = <T extends Uint32Array | Float64Array>(a: T): T => {
      const b = new (a.constructor as new (n: number) => T)(a.length);
      kept.forEach((from, to) => (b[to] = a[from]!));
      return b;
    };
    [this.entry, this.index] = [taken(this.entry), taken(this.index)];
    [this.key, this.time] = [taken(this.key), taken(this.time)];
    this.n = kept.length;
    this.isSorted = true;
  }

  slice(first: number, count: number): Place[] {
    const end = Math.min(this.kept, first + count);
    return Array.from({ length: Math.max(0, end - first) }, (_, k) => this.at(first + k));
  }

  private at(i: number): Place {
    return { entry: this.entry[i]!, index: this.index[i]! };
  }

  /** -1: it is not among those kept. */
  find(place: Place): number {
    for (let i = 0; i < this.kept; i++) if (this.entry[i] === place.entry && this.index[i] === place.index) return i;
    return -1;
  }
}
