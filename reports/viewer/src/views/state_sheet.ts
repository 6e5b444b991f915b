// state_sheet.ts - a state as rows, a process each: its table twin, CSV, JSON.
import { DOING, processInWords } from '../layout/state_words';
import type { Names } from '../layout/state_words';
import type { Sheet } from '../model/sheet';
import { Doing } from '../model/snapshot';
import type { Snapshot } from '../model/snapshot';

export function stateSheet(s: Snapshot | null, names: Names, note: string): Sheet {
  const inCall = (rank: number) => s!.doing[rank]! >= Doing.NonBlocking && s!.doing[rank]! <= Doing.Waits;
  const known = (x: number) => (Number.isFinite(x) ? x : null);
  const missing = (rank: number) => (s!.needs[rank] ?? []).filter((x) => !x.there).map((x) => x.rank);
  return {
    title: 'Consistent global state',
    note,
    columns: [
      { name: 'rank', title: 'rank' },
      { name: 'state', title: 'state' },
      { name: 'operation', title: 'operation' },
      { name: 'communicator', title: 'communicator' },
      { name: 'call_site', title: 'call site' },
      { name: 'since_ns', title: 'since, ns' },
      { name: 'waits_for', title: 'waits for ranks' },
      { name: 'words', title: 'in words' },
    ],
    rows: [...(s?.doing.keys() ?? [])].map((rank) => [
      rank,
      DOING[s!.doing[rank]!]!,
      inCall(rank) ? (s!.ops[s!.op[rank]!] ?? '') : null,
      inCall(rank) ? names.comm(s!.comm[rank]!) : null,
      inCall(rank) ? names.site(s!.site[rank]!) : null,
      s!.doing[rank]! > Doing.NotBegun && s!.doing[rank]! < Doing.Unknown ? known(s!.since[rank]!) : null,
      missing(rank).join(' '),
      processInWords(s!, rank, names),
    ]),
  };
}
