// main.ts - finds a trace (address, file picker, drag and drop), opens it, puts header, views and panel on the page, and keeps the
// address of the page and the state the same.
import { fill, h, onceAPicture, theme } from './draw/dom';
import { Finder } from './draw/finder';
import { follow, goToCause } from './draw/follow';
import type { Context } from './draw/follow';
import { header } from './draw/header';
import { help } from './draw/help';
import { Progress } from './draw/progress';
import { savedViews } from './draw/saved';
import { side } from './draw/side';
import type { Panel } from './draw/side';
import { Tooltip } from './draw/tooltip';
import { describe } from './draw/describe';
import { exporter } from './draw/export';
import type { Shown } from './draw/export';
import { goBack, handedOver, isCarried } from './io/carrier';
import { unpack } from './io/packed';
import { FileSource, openUrl } from './io/source';
import type { Source } from './io/source';
import { readAddress, writeAddress } from './model/address';
import type { Thing } from './model/picked';
import { Store, initialState } from './model/state';
import type { State, ViewState } from './model/state';
import { RUNS_MAX } from './layout/run_keys';
import { VIEWS, keyOfView, viewOfKey } from './views/list';
import { showLive } from './views/live';
import type { App, ViewInstance } from './views/view';
import type { Chain } from './work/chain';
import { collectiveRef } from './work/things';
import { Session, prepare } from './work/session';

const page = document.getElementById('app')!;
const voice = h('div', { class: 'voice', role: 'status', 'aria-live': 'polite' });
const tooltip = new Tooltip(document.body);
document.body.append(voice);

function alertBox(): { box: HTMLElement; show(text: string): void } {
  const text = h('span', {});
  const box = h(
    'div',
    { class: 'alert', role: 'alert', hidden: true },
    text,
    h('button', { type: 'button', 'aria-label': 'Close', onclick: () => (box.hidden = true) }, '×'),
  );
  return {
    box,
    show(message: string) {
      text.textContent = message;
      box.hidden = false;
    },
  };
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const ADDRESS_MS = 250; // after the last change

class Page {
  private readonly instances = new Map<string, ViewInstance>();
  private readonly hosts = new Map<string, HTMLElement>();
  private readonly tabs = new Map<string, HTMLElement>();
  private readonly stage = h('main', { class: 'views' });
  private readonly alert = alertBox();
  private readonly store: Store;
  private readonly app: App;
  private readonly panel: Panel;
  private readonly finder: Finder;
  private readonly help = help(VIEWS.map((view, i) => [keyOfView(i), view.title]));
  private readonly exporter;
  private readonly begin: State;
  private readonly observer: ResizeObserver;
  private readonly leaves = new AbortController();
  private readonly context: Context;
  private chain: Chain | null = null;
  private followedFrom = ''; // the call that a message was followed from
  private others: readonly Session[] = []; // to compare with
  private thing: Thing | null = null;
  private collective: Thing | null = null;
  private followed = '';
  private readonly progress = new Progress();
  private readonly lookAtProgress = (): void => {
    if (!this.leaves.signal.aborted) this.progress.look(this.store.state.view, [this.session, ...this.others]);
  };
  private readonly redraw = onceAPicture(() => {
    if (!this.leaves.signal.aborted) this.update();
  });
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly session: Session) {
    const views: Record<string, ViewState> = {};
    for (const view of VIEWS) views[view.id] = view.state(session);
    const runtime = Math.max(20, session.meta.runtime);
    this.begin = initialState(runtime, VIEWS[0]!.id, views);
    const asked = location.hash;
    this.store = new Store(readAddress(asked, this.begin), runtime);
    const fail = (error: unknown) => this.alert.show(message(error));
    this.app = {
      session,
      store: this.store,
      others: () => this.others,
      openOther: (file) => void this.openOther(new FileSource(file, file.name)),
      closeOther: (other) => this.closeOther(other),
      theme,
      tooltip,
      drawn: {},
      picked: () => this.thing,
      collective: () => this.collective,
      chain: () => this.chain,
      announce: (text) => (voice.textContent = text),
      redraw: () => this.redraw(),
      reveal: (ranks) => this.reveal(ranks),
      filterBy: (text) => this.finder.filterBy(text),
      fail,
    };
    this.context = {
      trace: session,
      store: this.store,
      reveal: (ranks) => this.reveal(ranks),
      showChain: (chain) => ((this.chain = chain), this.redraw()),
      announce: this.app.announce,
      fail,
    };
    this.panel = side(this.context);
    this.finder = new Finder(session, this.store, fail);
    this.exporter = exporter(() => this.exported(), this.app.announce, fail);
    fill(
      page,
      header(session, this.finder.chip),
      this.tabBar(),
      h('div', { class: 'body' }, this.stage, this.panel.element, this.alert.box),
      this.help,
    );
    this.store.subscribe((state, before) => this.changed(state, before));
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.stage);
    const { signal } = this.leaves;
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw(), { signal });
    addEventListener('keydown', (e) => this.key(e), { signal });
    if (isCarried()) this.leaveByEscape(signal);
    addEventListener('hashchange', () => this.follow(location.hash), { signal });
    this.stage.append(this.progress.element);
    session.watch = this.lookAtProgress;
    this.showView(this.store.state.view);
    this.followPicked();
    const issue = /(?:^#|&)issue=(\d+)/.exec(asked);
    if (issue) this.panel.openIssue(Number(issue[1]));
    document.title = `${document.querySelector('h1')?.textContent ?? 'trace'} – mpitrace`;
    const { store } = this;
    const busy = () => [session, ...this.others].reduce((n, x) => n + x.busy, 0);
    const shown = () => this.instances.get(store.state.view);
    const sheet = () => shown()?.sheet();
    const paint = (...on: Parameters<NonNullable<ViewInstance['paint']>>) => shown()?.paint?.(...on);
    Object.assign(globalThis, { mpitrace: { store, trace: session, drawn: this.app.drawn, busy, sheet, paint } }); // for tests and the curious
  }

  destroy(): void {
    this.leaves.abort();
    this.observer.disconnect();
    clearTimeout(this.timer);
    this.progress.end();
    this.store.end();
    this.panel.destroy();
    for (const instance of this.instances.values()) instance.destroy();
    this.session.close();
    for (const other of this.others) other.close();
  }

  /** A run more where several are shown, else in place of the first; what was open stays open if this cannot be. */
  async openOther(source: Source, isMore = this.store.state.view === 'spacetime'): Promise<void> {
    if (isMore && this.others.length >= RUNS_MAX - 1)
      return this.app.fail(`${source.name}: ${RUNS_MAX} runs are shown at most; close one first.`);
    try {
      const session = await Session.open(source, await workerCode());
      if (this.leaves.signal.aborted) return session.close();
      const before = isMore ? [] : this.others.slice(0, 1);
      this.others = isMore ? [...this.others, session] : [session, ...this.others.slice(1)];
      session.watch = this.lookAtProgress;
      const { other, otherBytes } = this.store.of('compare');
      if (this.others[0] === session && other === source.name && otherBytes !== source.bytes)
        this.app.fail(
          `${other} is not the file it was compared with before: that had ${Number(otherBytes)} bytes, this ${source.bytes}.`,
        );
      if (this.others[0] === session) this.store.setView('compare', { other: source.name, otherBytes: source.bytes });
      this.tellOthers();
      if (!isMore && !this.showsTwo()) this.showRuns(1);
      this.redraw();
      requestAnimationFrame(() => before.forEach((x) => x.close()));
    } catch (error) {
      this.app.fail(new Error(`${source.name}: ${message(error)}`));
    }
  }

  private closeOther(other: Session): void {
    this.others = this.others.filter((x) => x !== other);
    this.tellOthers();
    this.redraw();
    requestAnimationFrame(() => other.close());
  }

  /** So that the address tells which files to open again. */
  private tellOthers(): void {
    this.store.setView('spacetime', { runs: this.others.map((x) => x.name), besideRun: 0, besideEvent: '' });
  }

  private showsTwo(): boolean {
    const { view } = this.store.state;
    return view === 'compare' || (view === 'spacetime' && this.store.of('spacetime').beside === true);
  }

  /** What shows so many runs beside this one. */
  showRuns(others: number): void {
    this.store.set({ view: others > 1 ? 'spacetime' : 'compare' });
    if (others > 1) this.store.setView('spacetime', { beside: true });
  }

  /** A file that is dropped: beside the one that is open where two are compared. */
  takes(file: File): boolean {
    if (!this.showsTwo()) return false;
    this.app.openOther(file);
    return true;
  }

  private changed(state: State, before: State): void {
    if (state.view !== before.view) this.showView(state.view);
    if (state.from !== before.from || state.to !== before.to || state.views !== before.views) tooltip.hide();
    this.followPicked();
    this.update();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.writeAddress(), ADDRESS_MS);
  }

  private now(): { address: string; from: number; to: number; view: string } {
    const { state } = this.store;
    const view = VIEWS.find((v) => v.id === state.view)?.title ?? '';
    return { address: writeAddress(state, this.begin), from: state.from, to: state.to, view };
  }

  /** The view shown, for files. */
  private exported(): Shown {
    const { from, to, view, filterText, selected } = this.store.state;
    const instance = this.instances.get(view)!;
    const stage = this.hosts.get(view)?.querySelector('.stage:not([hidden])') ?? this.stage;
    const file = this.session.name.replace(/\.mpix$/, '').replace(/[^\w.-]+/g, '_');
    return {
      name: `${file}-${view}`,
      sheet: () => instance.sheet(),
      paint: instance.paint && ((g, width, height) => instance.paint!(g, width, height)),
      size: instance.pictureSize?.() ?? { width: stage.clientWidth, height: stage.clientHeight },
      about: { trace: this.session.name, view, from_ns: from, to_ns: to, ranks: [...selected], filter: filterText },
    };
  }

  private writeAddress(): void {
    const fragment = writeAddress(this.store.state, this.begin);
    if (`#${fragment}` === location.hash || (fragment === '' && location.hash === '')) return;
    history.replaceState(null, '', fragment === '' ? `${location.pathname}${location.search}` : `#${fragment}`);
  }

  /** Somebody changed the address. */
  private follow(fragment: string): void {
    if (fragment.slice(1) !== writeAddress(this.store.state, this.begin))
      this.store.set(readAddress(fragment, this.begin));
  }

  /** All about what is picked, whoever picked it. */
  private followPicked(): void {
    const { picked } = this.store.state;
    if (picked === this.followed) return;
    this.followed = picked;
    this.thing = null;
    this.collective = null;
    this.session.giveUp('collective');
    if (picked === '') {
      this.session.giveUp('picked');
      this.panel.pick(null, null);
      return;
    }
    this.session.ask('picked', 'thing', picked, (thing) => this.takePicked(thing), this.app.fail);
  }

  private takePicked(thing: Thing | null): void {
    this.thing = thing;
    this.panel.pick(thing, null);
    this.redraw();
    if (!thing) return;
    const tip = describe(this.session, thing);
    this.app.announce(`${tip.title}, ${tip.rows.map(([k, v]) => `${k} ${v}`).join(', ')}`);
    if (thing.kind === 'collective') this.collective = thing;
    const ref = thing.kind === 'event' ? collectiveRef(thing) : null;
    if (ref === null) return;
    const take = (whole: Thing | null) => {
      this.collective = whole;
      this.panel.pick(thing, whole);
      this.redraw();
    };
    this.session.ask('collective', 'thing', ref, take, this.app.fail);
  }

  /** Bring ranks into view, where not all are. */
  private reveal(ranks: number[]): void {
    const t = this.store.of('timeline');
    if (!(Number(t.rowHeight) > 0) || ranks.length === 0) return;
    this.store.setView('timeline', { rowFirst: Math.max(0, Math.min(...ranks) - 1) });
  }

  private tabBar(): HTMLElement {
    const tabs = h('div', { class: 'tab-list', role: 'tablist', 'aria-label': 'Views' });
    const bar = h('nav', { class: 'tabs', 'aria-label': 'Views' }, tabs);
    VIEWS.forEach((view, i) => {
      const act = {
        onclick: () => this.store.set({ view: view.id }),
        title: `${view.title} (${keyOfView(i)})`,
      };
      const tab = h('button', { type: 'button', role: 'tab', id: `tab-${view.id}`, ...act }, view.title);
      this.tabs.set(view.id, tab);
      tabs.append(tab);
    });
    const quiet = (label: string, title: string, act: () => void) =>
      h('button', { type: 'button', class: 'quiet', title, 'aria-label': title, onclick: act }, label);
    bar.append(
      h('span', { class: 'spring' }),
      this.finder.element,
      this.exporter.element,
      savedViews(
        this.session,
        () => this.now(),
        (address) => this.follow(`#${address}`),
      ),
      quiet('↶', 'Undo (Ctrl+Z)', () => this.store.undo()),
      quiet('↷', 'Redo (Ctrl+Shift+Z)', () => this.store.redo()),
      quiet('?', 'Keys and help (?)', () => this.toggleHelp()),
      quiet('Open…', 'Open another trace', () => start(null)),
    );
    bar.addEventListener('keydown', (e) => this.tabKey(e));
    return bar;
  }

  private tabKey(e: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step || !(e.target instanceof HTMLElement) || e.target.role !== 'tab') return;
    const now = VIEWS.findIndex((v) => v.id === this.store.state.view);
    const next = VIEWS[(now + step + VIEWS.length) % VIEWS.length]!;
    this.store.set({ view: next.id });
    this.tabs.get(next.id)?.focus();
  }

  private toggleHelp(): void {
    if (this.help.open) return this.help.close();
    this.help.showModal();
    this.help.scrollTop = 0; // its only button, which has the focus now, is at its end
  }

  private key(e: KeyboardEvent): void {
    const writing = e.target instanceof HTMLTextAreaElement;
    const typing = writing || e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
    const control = e.ctrlKey || e.metaKey;
    if (writing) return; // its own undo as well
    if (control && e.key.toLowerCase() === 'z' && !(typing && (e.target as HTMLInputElement).type === 'search')) {
      e.preventDefault();
      const did = e.shiftKey ? this.store.redo() : this.store.undo();
      if (!did) this.app.announce(e.shiftKey ? 'nothing to redo' : 'nothing to undo');
      return;
    }
    if (typing || control || e.altKey) return;
    const view = viewOfKey(e);
    if (view) this.store.set({ view: view.id });
    if (e.key === '?') this.toggleHelp();
    this.keys[e.key]?.();
    if (e.key === '/') {
      e.preventDefault();
      this.finder.focus();
    }
  }

  /** Back to the page around, unless Escape had something to do here. */
  private leaveByEscape(signal: AbortSignal): void {
    let before = '';
    const now = () => `${document.querySelector('dialog[open]') !== null} ${this.now().address}`;
    addEventListener('keydown', () => (before = now()), { signal, capture: true });
    addEventListener(
      'keydown',
      (e) => {
        const isField = e.target instanceof HTMLInputElement || e.target instanceof HTMLTextAreaElement;
        if (e.key === 'Escape' && !isField && before === now() && before.startsWith('false')) goBack();
      },
      { signal },
    );
  }

  /** Keys that are the same in all views. */
  private readonly keys: Record<string, () => void> = {
    t: () => this.exporter.twin(),
    f: () => {
      follow(this.context, this.thing, this.followedFrom);
      if (this.thing?.kind === 'event') this.followedFrom = this.thing.ref;
    },
    c: () => goToCause(this.context, this.thing),
    b: () => this.panel.askChain(),
    l: () => this.swap(),
  };

  /** Between physical and logical time, of the same interval. */
  private swap(): void {
    const other = { timeline: 'logical', logical: 'timeline' }[this.store.state.view];
    if (!other) return;
    this.store.set({ view: other });
    const focus = () => this.hosts.get(other)?.querySelector<HTMLElement>('[role=application]')?.focus();
    requestAnimationFrame(() => requestAnimationFrame(focus));
  }

  private showView(id: string): void {
    tooltip.hide();
    for (const [name, tab] of this.tabs) {
      tab.setAttribute('aria-selected', String(name === id));
      tab.tabIndex = name === id ? 0 : -1;
      if (name === id) tab.scrollIntoView({ inline: 'nearest', block: 'nearest' });
    }
    for (const [name, host] of this.hosts) host.hidden = name !== id;
    const view = VIEWS.find((v) => v.id === id);
    if (view && !this.instances.has(id)) {
      const host = h('div', { class: `view ${id}`, role: 'tabpanel', 'aria-labelledby': `tab-${id}` });
      this.stage.append(host);
      this.hosts.set(id, host);
      this.instances.set(id, view.create(this.app, host));
      describeBy(host, id);
    }
    this.lookAtProgress();
    this.redraw();
  }

  private update(): void {
    try {
      this.finder.update();
      this.instances.get(this.store.state.view)?.update();
    } catch (error) {
      this.app.fail(error);
    }
  }
}

/** What a picture shows is said by the note above it. */
function describeBy(host: HTMLElement, id: string): void {
  const note = host.querySelector('.note');
  if (!note) return;
  note.id = `note-${id}`;
  host.querySelector('[role=application]')?.setAttribute('aria-describedby', note.id);
}

let shown: Page | null = null;

let code: Promise<string> | null = null;
const workerCode = (): Promise<string> => (code ??= unpack('worker'));

/** What is open stays open if this cannot be. */
async function open(source: Source): Promise<void> {
  const note = h('div', { class: 'opening', role: 'status' }, `Opening ${source.name} …`);
  document.body.append(note);
  try {
    const session = await Session.open(source, await workerCode());
    shown?.destroy();
    shown = new Page(session);
  } catch (error) {
    const what = message(error);
    const text = what.startsWith(`${source.name}:`) ? what : `${source.name}: ${what}`;
    if (shown) refuse(text);
    else start(text);
  } finally {
    note.remove();
  }
}

/** Beside what is open. */
function refuse(text: string): void {
  const close = () => box.remove();
  const box = h(
    'div',
    { class: 'refusal', role: 'alert' },
    h('p', { class: 'problem' }, text),
    h('p', { class: 'hint' }, 'The trace that was open stays open.'),
    h('button', { type: 'button', onclick: close }, 'Close'),
  );
  document.querySelector('.refusal')?.remove();
  document.body.append(box);
}

function openFile(file: File | null | undefined): void {
  if (file && !shown?.takes(file)) void open(new FileSource(file, file.name));
}

/** The page without a trace: choose a file, and what went wrong before if anything did. */
function start(problem: string | null): void {
  shown?.destroy();
  shown = null;
  const input = h('input', {
    type: 'file',
    id: 'file',
    accept: '.mpix,.log,.txt,.mpic',
    onchange: () => openFile(input.files?.[0]),
  });
  document.title = 'mpitrace viewer';
  fill(
    page,
    h(
      'div',
      { class: 'empty start' },
      h('h1', {}, 'mpitrace'),
      problem ? h('p', { class: 'problem', role: 'alert' }, problem) : null,
      h('p', {}, 'Drop an .mpix file or a log of MPROV anywhere on this page, or'),
      h('label', { class: 'choose', for: 'file' }, 'choose a file', input),
      h(
        'p',
        { class: 'hint' },
        'It stays on this machine: the page makes no connections. A job leaves job.mpix beside its report.',
      ),
    ),
  );
}

function acceptDrops(): void {
  addEventListener('dragover', (e) => {
    e.preventDefault();
    document.body.classList.add('dropping');
  });
  addEventListener('dragleave', (e) => {
    if (!e.relatedTarget) document.body.classList.remove('dropping');
  });
  addEventListener('drop', (e) => {
    e.preventDefault();
    document.body.classList.remove('dropping');
    openFile(e.dataTransfer?.files[0]);
  });
}

async function openOther(name: string): Promise<void> {
  const source = await openUrl(new URL(name, location.href));
  if (source) await shown?.openOther(source, true);
  else refuse(`There is no ${name} on this server.`);
}

async function boot(): Promise<void> {
  const words = new URLSearchParams(location.search);
  const [asked, others] = [words.get('src'), words.getAll('other')];
  const hasView = new URLSearchParams(location.hash.slice(1)).has('view');
  if (words.has('live') && location.protocol.startsWith('http'))
    return showLive(page, { tooltip, theme, announce: (text) => (voice.textContent = text) });
  acceptDrops();
  if (isCarried()) {
    void workerCode().then(prepare);
    return open(await handedOver());
  }
  if (!asked && !location.protocol.startsWith('http')) return start(null);
  void workerCode().then(prepare);
  try {
    const source = await openUrl(new URL(asked ?? 'trace.mpix', location.href));
    if (source) await open(source);
    if (others.length > 0 && !hasView) shown?.showRuns(others.length);
    for (const other of source ? others : []) await openOther(other);
    if (source) return;
    start(asked ? `There is no ${asked} on this server.` : null);
  } catch (error) {
    start(message(error));
  }
}

void boot();
