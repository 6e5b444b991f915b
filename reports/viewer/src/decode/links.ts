// links.ts - messages as the calls that made them: start and completion of the receive, of the send. Their times and
// bytes are those of the calls (model/messages.ts).
import type { Entry } from './layout';
import { readPositions } from './positions';
import type { Positions } from './positions';
import type { Reader } from './reader';

export interface Links {
  count: number;
  receive: Positions;
  completion: Positions;
  send: Positions;
  sent: Positions;
  signature: Int32Array; // id in the sender's rank; -1: that of the start of the send
}

export function readLinks(reader: Reader, data: Uint8Array, entry: Entry): Links {
  const c = reader.chunk(entry, data);
  const receive = { receive: readPositions(c), completion: readPositions(c) };
  const send = { send: readPositions(c), sent: readPositions(c) };
  const signature = c.i32();
  return { count: signature.length, ...receive, ...send, signature };
}
