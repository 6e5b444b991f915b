// table_columns.ts - what the tables show: of each kind its columns, as people read them and as files hold them.
import { callSite } from '../draw/describe';
import { CLASSES } from '../layout/color';
import { bytes, count, duration, exactMoment, shortPlace } from '../layout/format';
import { writeNumbers } from '../model/address';
import { STILL_OPEN } from '../layout/unrecorded_words';
import { list, num, numbers, str } from '../model/analysis';
import type { Json } from '../model/analysis';
import { isRunning, openSums, opensOf } from '../model/open';
import type { Open } from '../model/open';
import type { Cell } from '../model/sheet';
import type { Session } from '../work/session';
import type { EventRow, MessageRow } from '../work/table';

export interface TableColumn<R> {
  key: string; // as in files
  sort?: string; // by which the worker sorts; else the key
  title: string;
  width: number;
  isNumber?: boolean;
  value(row: R, trace: Session): Cell;
  show?(value: Cell): string; // as people read it
  isForFiles?: boolean; // and not on the page
}

const moment = (v: Cell) => exactMoment(Number(v));
const length = (v: Cell) => duration(Number(v));
const time = (v: Cell) => (Number(v) > 0 ? duration(Number(v)) : '');
const size = (v: Cell) => (Number(v) > 0 ? bytes(Number(v)) : '');
const comm = (trace: Session, id: number) => trace.comms.get(id) ?? '';
const place = (v: Cell) => shortPlace(String(v ?? ''));
const peerOf = (n: number) => (n === -2 ? 'PROC_NULL' : n < 0 ? null : n);

/** Shown where ranks never came back from calls: in files whether a call returned, to people which did not. */
const RETURNED = { key: 'returned', title: 'open', width: 46 };
/** What the mark means. */
export function openKey(analysis: Json): string {
  return isRunning(analysis)
    ? `open: ${STILL_OPEN}; it counts until then`
    : 'open: the rank never came back from it; it counts to the end of the rank';
}

const EVENT_COLUMNS: TableColumn<EventRow>[] = [
  { key: 'start_ns', sort: 'start', title: 'start', width: 122, isNumber: true, value: (r) => r.start, show: moment },
  { key: 'rank', title: 'rank', width: 48, isNumber: true, value: (r) => r.rank },
  { key: 'thread', title: 'thread', width: 52, isNumber: true, value: (r) => r.thread },
  { key: 'operation', sort: 'op', title: 'operation', width: 120, value: (r) => r.op },
  { key: 'class', sort: 'op', title: 'class', width: 0, isForFiles: true, value: (r) => CLASSES[r.class]?.name ?? '' },
  {
    key: 'duration_ns',
    sort: 'duration',
    title: 'duration',
    width: 80,
    isNumber: true,
    value: (r) => r.duration,
    show: length,
  },
  { ...RETURNED, sort: 'returned', value: (r) => (r.open ? 'no' : 'yes'), show: (v) => (v === 'no' ? 'open' : '') },
  { key: 'waiting_ns', sort: 'wait', title: 'waiting', width: 78, isNumber: true, value: (r) => r.wait, show: time },
  {
    key: 'bytes',
    title: 'bytes',
    width: 68,
    isNumber: true,
    value: (r) => (r.open ? null : r.bytes),
    show: (v) => (v === null ? '' : size(v)),
  },
  { key: 'peer', title: 'peer', width: 48, isNumber: true, value: (r) => peerOf(r.peer) },
  { key: 'tag', title: 'tag', width: 46, isNumber: true, value: (r) => (r.peer === -1 || r.open ? null : r.tag) },
  {
    key: 'communicator',
    sort: 'comm',
    title: 'communicator',
    width: 138,
    value: (r, t) => (r.class === 2 ? '' : comm(t, r.comm)),
  },
  { key: 'call_site', sort: 'site', title: 'call site', width: 124, value: (r, t) => callSite(t, r.site), show: place },
];

/** Those that a run has a use for. */
export function eventColumns({ analysis }: Session): TableColumn<EventRow>[] {
  const hasOpen = opensOf(analysis).size > 0;
  return EVENT_COLUMNS.filter((c) => c.key !== RETURNED.key || hasOpen);
}

export const MESSAGE_COLUMNS: TableColumn<MessageRow>[] = [
  {
    key: 'sent_ns',
    sort: 'sendStart',
    title: 'sent',
    width: 128,
    isNumber: true,
    value: (r) => r.sendStart,
    show: moment,
  },
  { key: 'from', sort: 'src', title: 'from', width: 52, isNumber: true, value: (r) => r.src },
  { key: 'to', sort: 'dst', title: 'to', width: 52, isNumber: true, value: (r) => r.dst },
  { key: 'bytes', title: 'bytes', width: 76, isNumber: true, value: (r) => r.bytes, show: (v) => bytes(Number(v)) },
  {
    key: 'under_way_ns',
    sort: 'transit',
    title: 'under way',
    width: 96,
    isNumber: true,
    value: (r) => r.transit,
    show: length,
  },
  {
    key: 'receiver_waited_ns',
    sort: 'late',
    title: 'receiver waited',
    width: 96,
    isNumber: true,
    value: (r) => r.late,
    show: time,
  },
  {
    key: 'received_ns',
    sort: 'recvEnd',
    title: 'received',
    width: 128,
    isNumber: true,
    value: (r) => r.recvEnd,
    show: moment,
  },
  { key: 'tag', title: 'tag', width: 56, isNumber: true, value: (r) => r.tag },
  { key: 'communicator', sort: 'comm', title: 'communicator', width: 132, value: (r, t) => comm(t, r.comm) },
  {
    key: 'send_call_site',
    sort: 'sendCallSite',
    title: 'send call site',
    width: 150,
    value: (r, t) => callSite(t, r.sendCallSite),
    show: place,
  },
  {
    key: 'receive_call_site',
    sort: 'recvCallSite',
    title: 'receive call site',
    width: 150,
    value: (r, t) => callSite(t, r.recvCallSite),
    show: place,
  },
];

export interface SiteRow {
  id: number;
  op: string;
  place: string;
  function: string;
  calls: number;
  open: number; // of them: ranks never came back from these
  ns: number;
  waitNs: number | null; // null: not known
  bytes: number; // of those that returned
}

const OPEN = { key: 'open', title: 'open', width: 64 }; // of the calls

const SITE_COLUMNS: TableColumn<SiteRow>[] = [
  { key: 'operation', title: 'operation', width: 130, value: (r) => r.op },
  { key: 'place', title: 'place', width: 150, value: (r) => r.place, show: place },
  { key: 'function', title: 'function', width: 150, value: (r) => r.function },
  { key: 'calls', title: 'calls', width: 76, isNumber: true, value: (r) => r.calls, show: (v) => count(Number(v)) },
  { ...OPEN, isNumber: true, value: (r) => r.open, show: (v) => (Number(v) > 0 ? count(Number(v)) : '') },
  { key: 'time_ns', title: 'time', width: 84, isNumber: true, value: (r) => r.ns, show: length },
  { key: 'each_ns', title: 'each', width: 84, isNumber: true, value: (r) => r.ns / Math.max(1, r.calls), show: length },
  { key: 'waiting_ns', title: 'waiting', width: 84, isNumber: true, value: (r) => r.waitNs, show: time },
  {
    key: 'bytes',
    title: 'bytes',
    width: 76,
    isNumber: true,
    value: (r) => (r.calls > r.open ? r.bytes : null),
    show: size,
  },
];

export function siteColumns({ analysis }: Session): TableColumn<SiteRow>[] {
  const hasOpen = opensOf(analysis).size > 0;
  return SITE_COLUMNS.filter((c) => c.key !== OPEN.key || hasOpen);
}

/** Of the whole run, from the totals: exact even where no single calls were recorded. Open calls are in none of these. */
export function sitesOfRun(trace: Session): SiteRow[] {
  const opens = opensOf(trace.analysis);
  const siteOf = (x: Open) => (trace.callSites.has(x.site) ? x.site : x.op); // of unknown places a row for each operation
  const sums = openSums<number | string>(opens, siteOf);
  const none = { calls: 0, ns: 0, waitNs: 0 };
  const rows = list(trace.analysis, 'callsites').map((x, i): SiteRow => {
    const id = num(x, 'id') ?? i;
    const { op = '', place = '', function: name = '' } = trace.callSites.get(id) ?? {};
    const more = sums.get(id) ?? none;
    const waitNs = num(x, 'wait_s');
    return {
      ...{ id, op, place, function: name, calls: (num(x, 'calls') ?? 0) + more.calls, open: more.calls },
      ...{
        ns: (num(x, 'time_s') ?? 0) * 1e9 + more.ns,
        waitNs: waitNs === undefined && more.waitNs === 0 ? null : (waitNs ?? 0) * 1e9 + more.waitNs,
        bytes: num(x, 'bytes') ?? 0,
      },
    };
  });
  for (const [op, { calls, ns, waitNs }] of sums)
    if (typeof op === 'string')
      rows.push({ id: -1, op, place: '', function: '', calls, open: calls, ns, waitNs, bytes: 0 });
  return rows.filter((r) => r.calls > 0);
}

export interface CommRow {
  id: number;
  name: string;
  size: number;
  ranks: number[];
  parent: string;
  made: string;
  calls: number;
  open: number; // of them
}

const COMM_COLUMNS: TableColumn<CommRow>[] = [
  { key: 'communicator', title: 'communicator', width: 180, value: (r) => r.name },
  { key: 'size', title: 'size', width: 60, isNumber: true, value: (r) => r.size },
  { key: 'calls', title: 'calls', width: 90, isNumber: true, value: (r) => r.calls, show: (v) => count(Number(v)) },
  { ...OPEN, isNumber: true, value: (r) => r.open, show: (v) => (Number(v) > 0 ? count(Number(v)) : '') },
  { key: 'made_by', title: 'made by', width: 150, value: (r) => r.made || 'predefined' },
  { key: 'parent', title: 'made from', width: 150, value: (r) => r.parent },
  { key: 'ranks', title: 'ranks', width: 260, value: (r) => writeNumbers(r.ranks) },
];

export function commColumns({ analysis }: Session): TableColumn<CommRow>[] {
  const hasOpen = opensOf(analysis).size > 0;
  return COMM_COLUMNS.filter((c) => c.key !== OPEN.key || hasOpen);
}

export function commsOfRun(trace: Session): CommRow[] {
  const sums = openSums(opensOf(trace.analysis), (x) => x.comm);
  return list(trace.analysis, 'communicators').map((x, i) => {
    const id = num(x, 'id') ?? i;
    const parent = num(x, 'parent');
    return {
      id,
      name: comm(trace, id),
      size: num(x, 'size') ?? 0,
      ranks: [...numbers(x, 'ranks'), ...numbers(x, 'remote_ranks')].filter((r) => r >= 0),
      parent: parent === undefined ? '' : comm(trace, parent),
      made: str(x, 'created_by'),
      calls: (num(x, 'calls') ?? 0) + (sums.get(id)?.calls ?? 0),
      open: sums.get(id)?.calls ?? 0,
    };
  });
}
