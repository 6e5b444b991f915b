// spacetime_words.ts - the space-time view in words: an event, what is shown, what super epochs need. Pure.
import { Role } from '../model/section';
import type { Section } from '../model/section';
import type { RecordedLanes } from '../model/open';
import type { EpochNeed, SuperEpochs } from '../model/super_epochs';
import { deepest } from '../model/super_epochs';
import { bytes, count, exactMoment, moment, plural } from './format';
import type { Diagram } from './spacetime';
import { asSentence, counted } from './unrecorded_words';

export interface Names {
  comm(id: number): string;
  site(id: number): string;
}

export function epochName(s: Section, epoch: number): string {
  const number = s.epochs[epoch]?.number ?? 0;
  return number > 0 ? `E${number}` : 'not known: it is not over in what was read';
}

const eventName = (rank: number, number: number) => `rank ${rank}, event ${number < 0 ? 'not known' : count(number)}`;

/** Name and value of all that the click on an event tells. */
export function eventRows(s: Section, i: number, names: Names): [string, string][] {
  const { events, messages: m, collectives } = s;
  const at: [string, string][] = [
    ['epoch', epochName(s, events.epoch[i]!)],
    ['time', exactMoment(events.time[i]!)],
  ];
  const thing = events.thing[i]!;
  if (events.role[i] === Role.Part) {
    const c = collectives[thing]!;
    const own: [string, string][] = [
      ['operation', c.op],
      ['with', `${plural(c.parts.length, 'rank')} of ${names.comm(c.comm)}`],
      ['number', `the ${count(c.k)}th on it, from 0`],
    ];
    return [...own, ...at, ['call site', names.site(c.callSite)]];
  }
  return [
    ['source', eventName(m.src[thing]!, m.sendNumber[thing]!)],
    ['destination', eventName(m.dst[thing]!, m.receiveNumber[thing]!)],
    ...at,
    ['size', bytes(m.bytes[thing]!)],
    ['tag', String(m.tag[thing]!)],
    ['on', names.comm(m.comm[thing]!)],
    ['sent at', names.site(m.sendSite[thing]!)],
    ['received at', names.site(m.receiveSite[thing]!)],
  ];
}

export function eventTitle(s: Section, i: number): string {
  const { rank, number, role } = s.events;
  const what = ['send', 'receive', 'part in a collective'][role[i]!];
  return `Rank ${rank[i]}, event ${count(number[i]!)}: ${what}`;
}

/** What is read, and what filters leave of it. */
export function noteOf(s: Section, d: Diagram, of: RecordedLanes, interval: { from: number; to: number }): string {
  const { count: events, time } = s.events;
  if (events === 0) return asSentence(counted(0, 'no messages or collectives in this interval', of, interval));
  const numbers = s.epochs.map((e) => e.number).filter((n) => n > 0);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const epochs = numbers.length === 0 ? '' : numbers.length === 1 ? `, epoch E${low}` : `, epochs E${low} to E${high}`;
  const { runtime } = of.meta;
  const step = Math.max(1, runtime / 1e5);
  const when = s.cut
    ? `; the interval has more, shown is it until ${moment(time[events - 1]!, step, runtime / 10)}`
    : '';
  const left = d.isFiltered ? `${count(d.drawn)} of ${plural(events, 'event')}` : plural(events, 'event');
  const orphans = d.isFiltered && d.orphans > 0 ? `; ${plural(d.orphans, 'orphan')}` : '';
  const empty = d.isFiltered && d.emptyEpochs > 0 ? `; ${plural(d.emptyEpochs, 'epoch')} empty` : '';
  return `${left}, ${plural(s.messages.count, 'message')}${epochs}${orphans}${empty}${when}`;
}

/** The answer to: how many buffers does it take? */
export function superInWords(
  s: Section,
  needs: readonly EpochNeed[],
  merged: SuperEpochs | null,
  budget: number,
): string[] {
  const most = deepest(needs);
  if (!most) return s.events.count === 0 ? [] : ['No message is in flight in what is shown.'];
  const { need, total, epoch } = most;
  const where = s.epochs[epoch]!.number > 0 ? `E${s.epochs[epoch]!.number}` : 'an epoch that is not over';
  const all = total.messages > need.messages ? `, all receivers of it together ${count(total.messages)}` : '';
  const enough = budget === 0 || total.messages <= budget;
  const size = need.largest > 0 ? ` of ${bytes(need.largest)}` : ''; // imports may not know it
  const first = `rank ${need.rank} needs ${plural(need.messages, 'buffer')}${size} in ${where}${all}`;
  const lines = [`${first}${enough ? '' : `; with ${count(budget)} this program can deadlock`}`];
  if (merged) {
    const over =
      merged.over > 0 ? `; ${plural(merged.over, 'epoch')} alone ${merged.over === 1 ? 'needs' : 'need'} more` : '';
    lines.push(
      `with at most ${plural(budget, 'buffer')} in all, ${plural(s.epochs.length, 'epoch')} merge into ` +
        `${plural(merged.runs.length, 'super epoch')}${over}`,
    );
  }
  const parts = needs.filter((x) => !x.whole).length;
  if (parts > 0)
    lines.push(
      `${plural(parts, 'epoch')} at the ends of the interval ${parts === 1 ? 'is' : 'are'} cut and may need more`,
    );
  return lines;
}
