// table_columns.ts - what the tables show: of each kind its columns, as people read them and as files hold them.
import { callSite } from '../draw/describe';
import { CLASSES } from '../layout/color';
import { bytes, count, duration, exactMoment } from '../layout/format';
import { writeNumbers } from '../model/address';
import { list, num, numbers, str } from '../model/analysis';
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
const peerOf = (n: number) => (n === -2 ? 'PROC_NULL' : n < 0 ? null : n);

export const EVENT_COLUMNS: TableColumn<EventRow>[] = [
  { key: 'start_ns', sort: 'start', title: 'start', width: 128, isNumber: true, value: (r) => r.start, show: moment },
  { key: 'rank', title: 'rank', width: 52, isNumber: true, value: (r) => r.rank },
  { key: 'thread', title: 'thread', width: 52, isNumber: true, value: (r) => r.thread },
  { key: 'operation', sort: 'op', title: 'operation', width: 130, value: (r) => r.op },
  { key: 'class', sort: 'op', title: 'class', width: 0, isForFiles: true, value: (r) => CLASSES[r.class]?.name ?? '' },
  {
    key: 'duration_ns',
    sort: 'duration',
    title: 'duration',
    width: 96,
    isNumber: true,
    value: (r) => r.duration,
    show: length,
  },
  { key: 'waiting_ns', sort: 'wait', title: 'waiting', width: 96, isNumber: true, value: (r) => r.wait, show: time },
  { key: 'bytes', title: 'bytes', width: 76, isNumber: true, value: (r) => r.bytes, show: size },
  { key: 'peer', title: 'peer', width: 52, isNumber: true, value: (r) => peerOf(r.peer) },
  { key: 'tag', title: 'tag', width: 56, isNumber: true, value: (r) => (r.peer === -1 ? null : r.tag) },
  {
    key: 'communicator',
    sort: 'comm',
    title: 'communicator',
    width: 150,
    value: (r, t) => (r.class === 2 ? '' : comm(t, r.comm)),
  },
  { key: 'call_site', sort: 'site', title: 'call site', width: 170, value: (r, t) => callSite(t, r.site) },
];

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
  },
  {
    key: 'receive_call_site',
    sort: 'recvCallSite',
    title: 'receive call site',
    width: 150,
    value: (r, t) => callSite(t, r.recvCallSite),
  },
];

export interface SiteRow {
  id: number;
  op: string;
  place: string;
  function: string;
  calls: number;
  ns: number;
  waitNs: number;
  bytes: number;
}

export const SITE_COLUMNS: TableColumn<SiteRow>[] = [
  { key: 'operation', title: 'operation', width: 130, value: (r) => r.op },
  { key: 'place', title: 'place', width: 170, value: (r) => r.place },
  { key: 'function', title: 'function', width: 150, value: (r) => r.function },
  { key: 'calls', title: 'calls', width: 96, isNumber: true, value: (r) => r.calls, show: (v) => count(Number(v)) },
  { key: 'time_ns', title: 'time', width: 96, isNumber: true, value: (r) => r.ns, show: length },
  { key: 'each_ns', title: 'each', width: 96, isNumber: true, value: (r) => r.ns / Math.max(1, r.calls), show: length },
  { key: 'waiting_ns', title: 'waiting', width: 96, isNumber: true, value: (r) => r.waitNs, show: time },
  { key: 'bytes', title: 'bytes', width: 96, isNumber: true, value: (r) => r.bytes, show: size },
];

/** Of the whole run, from the totals: exact even where no single calls were recorded. */
export function sitesOfRun(trace: Session): SiteRow[] {
  return list(trace.analysis, 'callsites').map((x, i) => {
    const id = num(x, 'id') ?? i;
    const { op = '', place = '', function: name = '' } = trace.callSites.get(id) ?? {};
    const ns = (key: string) => (num(x, key) ?? 0) * 1e9;
    return {
      ...{ id, op, place, function: name, calls: num(x, 'calls') ?? 0 },
      ...{ ns: ns('time_s'), waitNs: ns('wait_s'), bytes: num(x, 'bytes') ?? 0 },
    };
  });
}

export interface CommRow {
  id: number;
  name: string;
  size: number;
  ranks: number[];
  parent: string;
  made: string;
  calls: number;
}

export const COMM_COLUMNS: TableColumn<CommRow>[] = [
  { key: 'communicator', title: 'communicator', width: 180, value: (r) => r.name },
  { key: 'size', title: 'size', width: 60, isNumber: true, value: (r) => r.size },
  { key: 'calls', title: 'calls', width: 90, isNumber: true, value: (r) => r.calls, show: (v) => count(Number(v)) },
  { key: 'made_by', title: 'made by', width: 150, value: (r) => r.made || 'predefined' },
  { key: 'parent', title: 'made from', width: 150, value: (r) => r.parent },
  { key: 'ranks', title: 'ranks', width: 260, value: (r) => writeNumbers(r.ranks) },
];

export function commsOfRun(trace: Session): CommRow[] {
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
      calls: num(x, 'calls') ?? 0,
    };
  });
}
