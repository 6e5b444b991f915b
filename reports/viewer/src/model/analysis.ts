// analysis.ts - the analysis object of the trace. It may come from anyone and lack anything: all access has a fallback.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export function parseJson(text: Uint8Array): Json {
  return JSON.parse(new TextDecoder().decode(text)) as Json;
}

export function at(value: Json | undefined, ...path: string[]): Json | undefined {
  let x: Json | undefined = value;
  for (const key of path) {
    if (x === null || typeof x !== 'object' || Array.isArray(x) || !Object.hasOwn(x, key)) return undefined;
    x = x[key];
  }
  return x;
}

export function num(value: Json | undefined, ...path: string[]): number | undefined {
  const x = at(value, ...path);
  return typeof x === 'number' && Number.isFinite(x) ? x : undefined;
}

export function str(value: Json | undefined, ...path: string[]): string {
  const x = at(value, ...path);
  return typeof x === 'string' ? x : typeof x === 'number' ? String(x) : '';
}

export function list(value: Json | undefined, ...path: string[]): Json[] {
  const x = at(value, ...path);
  return Array.isArray(x) ? x : [];
}

export function numbers(value: Json | undefined, ...path: string[]): number[] {
  return list(value, ...path).filter((x): x is number => typeof x === 'number' && Number.isFinite(x));
}

export interface CallSite {
  op: string;
  place: string; // file:line, or the module
  function: string;
}

export function callSites(analysis: Json): Map<number, CallSite> {
  const sites = new Map<number, CallSite>();
  list(analysis, 'callsites').forEach((x, i) => {
    const file = str(x, 'file');
    const line = num(x, 'line') ?? 0;
    const place = file ? (line > 0 ? `${file}:${line}` : file) : str(x, 'module_short') || str(x, 'module');
    sites.set(num(x, 'id') ?? i, { op: str(x, 'op'), place, function: str(x, 'function_short') || str(x, 'function') });
  });
  return sites;
}

/** What nobody made and nobody named is one of the two that MPI gives. */
function predefined(x: Json, ranks: number): string {
  if (str(x, 'created_by') !== '' || num(x, 'parent') !== undefined) return '';
  const size = num(x, 'size');
  return size === ranks ? 'MPI_COMM_WORLD' : size === 1 ? 'MPI_COMM_SELF' : '';
}

export function communicators(analysis: Json, ranks: number): Map<number, string> {
  const names = new Map<number, string>();
  list(analysis, 'communicators').forEach((x, i) => {
    const id = num(x, 'id') ?? i;
    names.set(id, str(x, 'name') || predefined(x, ranks) || `communicator ${id}`);
  });
  return names;
}

const SEVERITIES = ['low', 'medium', 'high'];

export interface Issue {
  name: string; // as the analysis writes it
  title: string;
  severity: string;
  loss: number; // seconds
  what: string;
  why: string;
  next: string;
  ranks: number[];
  pairs: [number, number][];
  callSites: number[];
  window: [number, number] | null; // ns
}

function pairsOf(x: Json): [number, number][] {
  return list(x, 'pairs')
    .map((p) => (Array.isArray(p) ? p : []))
    .filter((p): p is [number, number] => p.length === 2 && p.every((n) => typeof n === 'number'));
}

/** In the report's order: by severity, else as the analysis has them. */
export function issues(analysis: Json): Issue[] {
  const all = list(analysis, 'issues').map((x) => {
    const window = numbers(x, 'window_s');
    const name = str(x, 'issue');
    return {
      name,
      title: str(x, 'title') || name.replaceAll('_', ' '),
      severity: str(x, 'severity'),
      loss: num(x, 'loss_s') ?? 0,
      what: str(x, 'what'),
      why: str(x, 'why'),
      next: str(x, 'next'),
      ranks: numbers(x, 'ranks'),
      pairs: pairsOf(x),
      callSites: numbers(x, 'callsites'),
      window:
        window.length === 2 && window[1]! > window[0]!
          ? ([window[0]! * 1e9, window[1]! * 1e9] as [number, number])
          : null,
    };
  });
  const level = (issue: Issue) => Math.max(0, SEVERITIES.indexOf(issue.severity));
  return all.sort((a, b) => level(b) - level(a));
}
