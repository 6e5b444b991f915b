// help.ts - all keys, in a dialogue.
import { h } from './dom';

const KEYS: [string, string][] = [
  ['W S, + −, wheel, pinch', 'zoom in and out'],
  ['A D, ← →, drag', 'pan; with Shift by half of what is shown'],
  ['↑ ↓, Page Up, Page Down', 'scroll ranks; Shift ↑ ↓ or Alt wheel: height of the rows'],
  ['Home', 'the whole run, all ranks'],
  ['Shift drag, X', 'mark an interval, mark what is shown: statistics'],
  ['N P, ] [', 'next and previous call of the thread; on the circle: link'],
  ['F', 'follow: from a call to its message, from a message to the call at its other end'],
  ['C, B', 'to the cause of a wait; several steps back to how it came about'],
  ['M', 'messages'],
  ['L', 'from the timeline to logical time of the same interval, and back'],
  ['← → ↑ ↓, Enter', 'in logical time: from call to call, select; W S A D zoom and pan'],
  [
    '/',
    'find: allreduce >1ms ranks 3-9 · class:barrier · comm:row · site:halo.c · node:n2 · >=64KiB · wait>1ms · transit>1ms',
  ],
  ['Enter, Shift Enter', 'in the field: next, previous; Ctrl Enter: filter all views by it'],
  ['← →, Space, R, G, U', 'in states: step, play, run to, a container of what is selected, take it apart'],
  ['← → ↑ ↓, Space, comma, period, L', 'on the machine: turn, play, step, layout'],
  ['Ctrl Enter', 'in protocol: apply the specification; in its list Enter shows a message in the timeline'],
  [
    'arrows, G, E, O, L, [ ]',
    'in space-time: events and lines, other end, epoch, turn, by time, earlier and later; Home the whole run, N what can be read; the wheel zooms, Shift drag an area',
  ],
  ['T', 'what is shown as a table; files of it: Export'],
  ['↑ ↓, Home, End, Enter', 'in tables: move, open'],
  ['← →, Shift, Enter', 'in distributions: move, brush, filter by it'],
  ['Ctrl Z, Ctrl Shift Z', 'undo, redo'],
  ['Esc', 'clear the selection'],
];

/** views: the key of each, and its title. */
export function help(views: [string, string][]): HTMLDialogElement {
  const list = (rows: [string, string][]) => rows.flatMap(([key, text]) => [h('dt', {}, key), h('dd', {}, text)]);
  const dialog = h(
    'dialog',
    { class: 'help', 'aria-label': 'Keys' },
    h('h2', {}, 'Views'),
    h('dl', { class: 'views-keys' }, ...list(views)),
    h('h2', {}, 'Keys'),
    h('dl', {}, ...list(KEYS)),
    h('p', { class: 'hint' }, 'The address of the page holds what is shown: reload it, or share it.'),
    h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'),
  );
  return dialog;
}
