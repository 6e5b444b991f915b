// ops.ts - which calls block, and which receive: by their names, where the class does not say it.

const NEVER_BLOCKS =
  /^MPI_(I[a-z]|Test|Start|Bsend|Cancel|.*_init$|Request_|Buffer_|Comm_(rank|size|set_|get_)|W(time|tick))/;
const [P2P, WAITS, COLLECTIVE, BARRIER, RMA, FILES] = [1, 2, 3, 4, 5, 6];
const RMA_BLOCKS = /^MPI_Win_(fence|create|allocate|free|wait|start|complete|lock|unlock|flush)/;
const OTHER_BLOCKS = /^MPI_(Init|Finalize|Comm_(dup|split|create|free|accept|connect|spawn)|Intercomm_|Abort)/;

/** Whether the call may have to wait for others. */
export function isBlocking(op: string, kind: number): boolean {
  if (NEVER_BLOCKS.test(op) && !op.startsWith('MPI_Init')) return false;
  if (kind === WAITS) return /Wait|MPI_M?[Pp]robe$/.test(op);
  if ([P2P, COLLECTIVE, BARRIER, FILES].includes(kind)) return true;
  return kind === RMA ? RMA_BLOCKS.test(op) : OTHER_BLOCKS.test(op);
}

export function isReceive(op: string): boolean {
  return /recv/i.test(op) || /Wait|[Pp]robe/.test(op);
}
