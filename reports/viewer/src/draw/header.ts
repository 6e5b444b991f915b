// header.ts - the job, the verdict and how far to trust it.
import { at, list, num, str } from '../model/analysis';
import { EFFICIENCIES } from '../model/efficiencies';
import { callCount, isTotals } from '../model/open';
import type { Session } from '../work/session';
import { count, duration, percent, plural, roundDuration } from '../layout/format';
import { h } from './dom';

function facts(trace: Session): string {
  const a = trace.analysis;
  const nodes = list(a, 'job', 'nodes').length;
  const id = str(a, 'job', 'job_id');
  const elapsed = num(a, 'job', 'elapsed_s');
  return [
    plural(trace.meta.ranks, 'rank') + (nodes > 0 ? ` on ${plural(nodes, 'node')}` : ''),
    duration(elapsed === undefined ? trace.meta.runtime : elapsed * 1e9),
    id && id !== '0' ? `job ${id}${str(a, 'job', 'step_id') !== '' ? `.${str(a, 'job', 'step_id')}` : ''}` : '',
    str(a, 'job', 'mpi'),
    str(a, 'job', 'start'),
    str(a, 'job', 'state'),
  ]
    .filter((x) => x !== '')
    .join(' · ');
}

function meter(name: string, share: number | undefined, title: string): HTMLElement {
  const level = share === undefined ? 'unknown' : share >= 0.8 ? 'good' : share >= 0.6 ? 'fair' : 'poor';
  const bar = h('span', { class: 'meter-bar' });
  bar.style.width = `${Math.round(Math.min(1, Math.max(0, share ?? 0)) * 100)}%`;
  return h(
    'div',
    { class: `meter ${level}`, title },
    h('span', { class: 'meter-value' }, percent(share)),
    h('span', { class: 'meter-name' }, name),
    h('span', { class: 'meter-track' }, bar),
  );
}

function verdict(trace: Session): HTMLElement {
  const factor = (name: string) => {
    const [key, title, formula] = EFFICIENCIES.find(([key]) => key === name)!;
    return meter(title, num(trace.analysis, 'efficiency', key), formula);
  };
  return h(
    'div',
    { class: 'verdict', role: 'group', 'aria-label': 'Efficiency' },
    factor('parallel'),
    h('span', { class: 'operator' }, '='),
    factor('load_balance'),
    h('span', { class: 'operator' }, '×'),
    factor('communication'),
  );
}

export function coverageText(trace: Session): { complete: boolean; text: string; reasons: string[] } {
  const a = trace.analysis;
  const complete = at(a, 'coverage', 'complete') === true;
  const lost = num(a, 'coverage', 'events_lost') ?? 0;
  const seen = num(a, 'coverage', 'ranks_seen');
  const expected = num(a, 'coverage', 'ranks_expected');
  const missing = list(a, 'coverage', 'nodes_missing').filter((x): x is string => typeof x === 'string');
  const calls = callCount(a);
  const events = num(a, 'coverage', 'events') ?? trace.meta.events;
  const parts = [calls ? plural(calls.calls, 'call') : `${plural(events, 'call')} recorded singly`];
  if (calls && calls.open > 0) parts.push(`${count(calls.open)} open at the end`);
  if (lost > 0 && !isTotals(a, trace.meta.events))
    parts.push(`${plural(lost, 'single event')} lost (totals stay exact)`);
  if (seen !== undefined && expected !== undefined && seen !== expected) parts.push(`${seen} of ${expected} ranks`);
  if (missing.length > 0) parts.push(`no data from ${missing.slice(0, 4).join(', ')}${missing.length > 4 ? ' …' : ''}`);
  const known = at(a, 'coverage', 'complete') !== undefined;
  const word = complete ? 'Complete' : known ? 'Partial' : 'Coverage unknown';
  const reasons = list(a, 'coverage', 'reasons').filter((x): x is string => typeof x === 'string');
  return { complete, text: `${word}: ${parts.join(', ')}`, reasons };
}

function trust(trace: Session, filter: HTMLElement): HTMLElement {
  const c = coverageText(trace);
  const bound = num(trace.analysis, 'clock', 'error_bound_us');
  const overhead = num(trace.analysis, 'overhead', 'share');
  return h(
    'div',
    { class: 'trust' },
    h(
      'span',
      { class: `pill ${c.complete ? 'good' : 'warn'}`, title: c.reasons.join('\n') },
      c.complete ? '✓ ' : '⚠ ',
      c.text,
    ),
    bound !== undefined && bound > 0
      ? h(
          'span',
          { class: 'pill', title: 'Times of different nodes agree within this bound' },
          `clocks ± ${roundDuration(bound * 1e3)}`,
        )
      : null,
    overhead !== undefined
      ? h(
          'span',
          { class: 'pill', title: 'Share of the runtime spent in tracing' },
          `tracing ${overhead > 0 && overhead < 5e-5 ? '< 0.01' : (overhead * 100).toFixed(2)} %`,
        )
      : null,
    filter,
    ...c.reasons.slice(0, 3).map((reason) => h('span', { class: 'reason' }, reason)),
  );
}

/** filter: where it is said that one holds. */
export function header(trace: Session, filter: HTMLElement): HTMLElement {
  const program = str(trace.analysis, 'job', 'program') || trace.name;
  return h(
    'header',
    { class: 'top' },
    h(
      'div',
      { class: 'title' },
      h('h1', { title: program }, program.split('/').pop() || program),
      h('p', { class: 'facts' }, facts(trace)),
      trust(trace, filter),
    ),
    verdict(trace),
  );
}
