// machine_coarse.ts - the machine with one box for all ranks of a node, in the mean of their colours: what is drawn while the camera moves where
// all boxes take too long. In: boxes and colours of ranks.  Out: the same of nodes. Pure.

/** Around the ranks of each node; of no size where it has none. */
export function coarseBoxes(ranks: Float32Array, nodeOf: Uint32Array, nodes: number): Float32Array {
  const least = new Float32Array(nodes * 3).fill(Infinity);
  const most = new Float32Array(nodes * 3).fill(-Infinity);
  nodeOf.forEach((node, rank) => {
    if (!(ranks[rank * 6 + 3]! > 0)) return;
    for (let k = 0; k < 3; k++) {
      const [at, half] = [ranks[rank * 6 + k]!, ranks[rank * 6 + 3 + k]! / 2];
      least[node * 3 + k] = Math.min(least[node * 3 + k]!, at - half);
      most[node * 3 + k] = Math.max(most[node * 3 + k]!, at + half);
    }
  });
  const boxes = new Float32Array(nodes * 6);
  for (let i = 0; i < nodes * 3; i++) {
    if (!(most[i]! > least[i]!)) continue;
    const at = Math.floor(i / 3) * 6 + (i % 3);
    boxes[at] = (least[i]! + most[i]!) / 2;
    boxes[at + 3] = most[i]! - least[i]!;
  }
  return boxes;
}

export function coarseColors(ranks: Float32Array, nodeOf: Uint32Array, nodes: number): Float32Array {
  const colors = new Float32Array(nodes * 3);
  const count = new Uint32Array(nodes);
  nodeOf.forEach((node, rank) => {
    count[node]!++;
    for (let k = 0; k < 3; k++) colors[node * 3 + k]! += ranks[rank * 3 + k]!;
  });
  return colors.map((sum, i) => sum / Math.max(1, count[Math.floor(i / 3)]!));
}
