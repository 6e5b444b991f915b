// machine_pace.ts - whether the machine is drawn coarsely: while the camera moves, where a processor draws very many boxes, so that it follows the
// pointer; as soon as it rests, whole.
import type { Orbit } from '../layout/orbit';

const WHOLE_MAX = 16384; // boxes that a processor draws fast enough
const REST_MS = 250;

export class Pace {
  coarse = false;
  private orbit = '';
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** again: draw once more. */
  constructor(private readonly again: () => void) {}

  /** What the next picture is to be. */
  next(orbit: Orbit, boxes: number, isSoftware: boolean): boolean {
    const key = JSON.stringify(orbit);
    const moves = this.orbit !== '' && key !== this.orbit;
    this.orbit = key;
    if (!isSoftware || boxes <= WHOLE_MAX) return (this.coarse = false);
    if (!moves) return this.coarse; // it rests when the time is over
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.rest(), REST_MS);
    return (this.coarse = true);
  }

  private rest(): void {
    this.coarse = false;
    this.again();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
