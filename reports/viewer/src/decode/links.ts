// links.ts - messages as the calls that made them: start and completion of the receive, of the send. Their times and
// bytes are those of the calls (model/messages.ts).
import { Bytes, Damaged, allRead, columnsOf } from './bytes';
import { lanesOfGroup } from './meta';
import type { Meta } from './meta';
import { emptyPositions, putPosition } from './positions';
import type { Positions } from './positions';
import { RECORDS_MAX } from './records';

const COLUMNS = 7;
const enum Has {
  ReceiveElsewhere = 1,
  NoCompletion = 2,
  SendElsewhere = 4,
  SentElsewhere = 8,
  NoSent = 16,
  Signature = 32,
  Earlier = 64, // completed in an earlier window than the chunk's
}
const FLAGS = 128;

export interface Links {
  count: number;
  receive: Positions;
  completion: Positions;
  send: Positions;
  sent: Positions;
  signature: Int32Array; // id in the sender's rank; -1: that of the start of the send
}

interface Columns {
  flags: Bytes;
  completion: Bytes;
  receive: Bytes;
  source: Bytes;
  send: Bytes;
  sent: Bytes;
  elsewhere: Bytes;
}

interface Lane {
  lane: number;
  count: number;
}

function readLanes(c: Bytes, meta: Meta, group: number): { lanes: Lane[]; count: number } {
  const n = c.varint();
  const [first, end] = lanesOfGroup(meta, group);
  const lanes: Lane[] = [];
  let next = first;
  let count = 0;
  for (let i = 0; i < n; i++) {
    const lane = next + c.varint();
    const messages = c.varint();
    if (lane >= end || messages < 1 || messages > RECORDS_MAX - count) throw new Damaged('impossible lane of messages');
    lanes.push({ lane, count: messages });
    next = lane + 1;
    count += messages;
  }
  return { lanes, count };
}

function readReceive(out: Links, i: number, c: Columns, flags: number, at: Lane, index: number, place: Place): void {
  const { meta, window } = place;
  let start = index;
  if ((flags & Has.NoCompletion) === 0) {
    putPosition(out.completion, i, window, at.lane, index, meta);
    if ((flags & Has.ReceiveElsewhere) !== 0) {
      const back = c.elsewhere.varint();
      const lane = at.lane + c.elsewhere.zigzag();
      return putPosition(out.receive, i, window - back, lane, c.elsewhere.varint(), meta);
    }
    start -= c.receive.varint();
  }
  putPosition(out.receive, i, window, at.lane, start, meta);
}

interface Place {
  meta: Meta;
  window: number;
}

function readSend(out: Links, i: number, c: Columns, flags: number, at: Lane, last: Sends, place: Place): void {
  const { meta, window } = place;
  const lane = at.lane + c.source.zigzag();
  const sendWindow = window - ((flags & Has.SendElsewhere) !== 0 ? c.elsewhere.zigzag() : 0);
  const before = last.get(lane);
  const index = c.send.zigzag() + (before !== undefined && before.window === sendWindow ? before.index : 0);
  putPosition(out.send, i, sendWindow, lane, index, meta);
  last.set(lane, { window: sendWindow, index });
  if ((flags & Has.SentElsewhere) !== 0) {
    const sentWindow = sendWindow + c.elsewhere.zigzag();
    const sentLane = lane + c.elsewhere.zigzag();
    putPosition(out.sent, i, sentWindow, sentLane, c.elsewhere.varint(), meta);
  } else if ((flags & Has.NoSent) === 0) {
    putPosition(out.sent, i, sendWindow, lane, index + c.sent.varint(), meta);
  }
}

/** By source lane: the last send from there. */
type Sends = Map<number, { window: number; index: number }>;

function readLane(out: Links, first: number, at: Lane, c: Columns, place: Place): void {
  const last: Sends = new Map();
  let index = 0;
  let before = -1;
  for (let i = first; i < first + at.count; i++) {
    const flags = c.flags.u8();
    const contradicts =
      flags >= FLAGS ||
      ((flags & Has.NoCompletion) !== 0 && (flags & Has.ReceiveElsewhere) !== 0) ||
      ((flags & Has.NoSent) !== 0 && (flags & Has.SentElsewhere) !== 0);
    if (contradicts) throw new Damaged('impossible flags of a message');
    const window = place.window - ((flags & Has.Earlier) !== 0 ? c.elsewhere.varint() : 0);
    if (window < 0) throw new Damaged('a message of no window');
    index = c.completion.varint() + (window === before ? index : 0);
    before = window;
    readReceive(out, i, c, flags, at, index, { meta: place.meta, window });
    readSend(out, i, c, flags, at, last, { meta: place.meta, window });
    const signature = (flags & Has.Signature) !== 0 ? c.elsewhere.varint() : -1;
    if (signature > 0x7fffffff) throw new Damaged('there is no such signature');
    out.signature[i] = signature;
  }
}

export function readLinks(data: Uint8Array, meta: Meta, group: number, window: number): Links {
  const c = new Bytes(data);
  const { lanes, count } = readLanes(c, meta, group);
  if (count > c.left) throw new Damaged('too few bytes for the messages'); // before memory is taken
  const columns = columnsOf(c, COLUMNS);
  const [flags, completion, receive, source, send, sent, elsewhere] = columns;
  const named = { flags, completion, receive, source, send, sent, elsewhere } as Columns;
  const out: Links = {
    count,
    receive: emptyPositions(count),
    completion: emptyPositions(count),
    send: emptyPositions(count),
    sent: emptyPositions(count),
    signature: new Int32Array(count),
  };
  let first = 0;
  for (const lane of lanes) {
    readLane(out, first, lane, named, { meta, window });
    first += lane.count;
  }
  allRead(columns);
  return out;
}
