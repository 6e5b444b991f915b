// protocol.ts - the messages of an open trace against a specification, one after the other.
import { list, num } from '../model/analysis';
import { Check } from '../model/check';
import type { Checked, CheckedMessage } from '../model/check';
import { NO_LINE } from '../model/protocol';
import type { Colour, Ends, Judged, Mistake } from '../model/protocol';
import { Spec, SpecError } from '../model/spec';
import type { Trace } from '../model/trace';
import { Exchanges } from './exchanges';
import type { Exchange } from './exchanges';

export interface ProtocolQuery {
  text: string;
  name: string; // of the specification, for error texts
  level: number;
  shown: Colour[]; // which messages are listed
}

export interface ProtocolAnswer {
  checked: Checked | null; // null: not yet, or a mistake
  mistake: Mistake | null;
  share: number; // of the trace that is read
}

/** Source lines by call site. */
export function linesOf(trace: Trace): (callSite: number) => number {
  const lines = new Map<number, number>();
  list(trace.analysis, 'callsites').forEach((x, i) => {
    const line = num(x, 'line') ?? NO_LINE;
    if (line > 0) lines.set(num(x, 'id') ?? i, line);
  });
  return (callSite) => lines.get(callSite) ?? NO_LINE;
}

function mistakeOf(error: unknown): Mistake {
  if (!(error instanceof SpecError)) throw error;
  return error.mistake;
}

/** Written out: it is made for each message, and a rest of members costs ten times as much. */
function endsOf(m: Exchange, line: (callSite: number) => number): Omit<CheckedMessage, 'ref'> {
  const { sender, receiver, sendEvent, receiveEvent, start, end } = m;
  const [senderLine, receiverLine] = [line(m.sendCallSite), line(m.receiveCallSite)];
  return { sender, receiver, senderLine, receiverLine, sendEvent, receiveEvent, start, end };
}

export async function protocolOf(
  trace: Trace,
  q: ProtocolQuery,
  signal: AbortSignal,
  say: (part: ProtocolAnswer) => void,
): Promise<ProtocolAnswer> {
  try {
    const unmatched = (what: 'sends' | 'sends_open') => num(trace.analysis, 'coverage', 'unmatched', what) ?? 0;
    const unreceived = unmatched('sends') + unmatched('sends_open');
    const check = new Check(await Spec.parse(q.name, q.text), q.level, trace.meta.ranks, new Set(q.shown), unreceived);
    const line = linesOf(trace);
    const exchanges = new Exchanges(trace);
    await exchanges.each(
      signal,
      (m) => check.add(endsOf(m, line), () => `m${m.chunk}.${m.index}`),
      (share) => say({ checked: null, mistake: null, share }),
    );
    return { checked: check.result(), mistake: null, share: 1 };
  } catch (error) {
    return { checked: null, mistake: mistakeOf(error), share: 0 };
  }
}

export interface VerdictsQuery extends Pick<ProtocolQuery, 'text' | 'name' | 'level'> {
  messages: Ends[];
}

/** Of each message; null: no number comes out of a rule, and the protocol view says of which. All null: there are no such rules. */
export async function verdictsOf(trace: Trace, q: VerdictsQuery): Promise<(Judged | null)[] | null> {
  const orNull = (error: unknown) => (mistakeOf(error), null);
  const spec = await Spec.parse(q.name, q.text).catch(orNull);
  const known = new Map<string, Judged | null>();
  const evaluate = (m: Ends) => {
    try {
      return spec!.evaluate(m, q.level, trace.meta.ranks);
    } catch (error) {
      return orNull(error);
    }
  };
  const find = (m: Ends) => {
    const key = Object.values(m).join(' ');
    const found = known.has(key) ? known.get(key)! : evaluate(m);
    known.set(key, found);
    return found;
  };
  return spec && q.messages.map(find);
}
