// main.ts - finds a trace (address, file picker, drag and drop), opens it, puts header, views and panel on the page.
import { fill, h, theme } from './draw/dom';
import { header } from './draw/header';
import { side } from './draw/side';
import { Tooltip } from './draw/tooltip';
import { FileSource, openUrl } from './io/source';
import type { Source } from './io/source';
import { list, num } from './model/analysis';
import { Store } from './model/state';
import { Trace } from './model/trace';
import { VIEWS } from './views/list';
import type { App, ViewInstance } from './views/view';

const page = document.getElementById('app')!;
const voice = h('div', { class: 'voice', role: 'status', 'aria-live': 'polite' });
const tooltip = new Tooltip(document.body);
document.body.append(voice);

/** A width that makes the largest kind of message a few pixels wide. */
function startWidth(trace: Trace): number {
  let most = 0;
  for (const x of list(trace.analysis, 'matrix', 'p2p')) {
    const n = num(x, 'messages') ?? 0;
    if (n > 0) most = Math.max(most, (num(x, 'bytes') ?? 0) / n);
  }
  return Math.max(1, most > 0 ? most / 3 : 4096);
}

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

class Page {
  private readonly instances = new Map<string, ViewInstance>();
  private readonly hosts = new Map<string, HTMLElement>();
  private readonly tabs = new Map<string, HTMLElement>();
  private readonly stage = h('main', { class: 'views' });
  private readonly alert = alertBox();
  private readonly app: App;
  private scheduled = false;

  constructor(trace: Trace) {
    const store = new Store(
      {
        from: 0,
        to: Math.max(20, trace.meta.runtime),
        rowFirst: 0,
        rowHeight: 0,
        selected: new Set(),
        bytesPerPixel: startWidth(trace),
        showMessages: true,
        picked: null,
        view: 'timeline',
      },
      Math.max(20, trace.meta.runtime),
    );
    this.app = {
      trace,
      store,
      theme,
      tooltip,
      drawn: {},
      announce: (text) => (voice.textContent = text),
      redraw: () => this.redraw(),
      fail: (error) => this.alert.show(message(error)),
    };
    fill(
      page,
      header(trace),
      this.tabBar(),
      this.alert.box,
      h('div', { class: 'body' }, this.stage, side(trace, store)),
    );
    store.subscribe((state, before) => {
      if (state.view !== before.view) this.showView(state.view);
      this.update();
    });
    new ResizeObserver(() => this.redraw()).observe(this.stage);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
    this.showView('timeline');
    document.title = `${document.querySelector('h1')?.textContent ?? 'trace'} – mpitrace`;
    Object.assign(globalThis, { mpitrace: { store, trace, drawn: this.app.drawn } }); // for tests and the curious
  }

  private tabBar(): HTMLElement {
    const bar = h('nav', { class: 'tabs', role: 'tablist', 'aria-label': 'Views' });
    VIEWS.forEach((view, i) => {
      const tab = h(
        'button',
        {
          type: 'button',
          role: 'tab',
          id: `tab-${view.id}`,
          title: `${view.title} (${i + 1})`,
          onclick: () => this.app.store.set({ view: view.id }),
        },
        view.title,
      );
      this.tabs.set(view.id, tab);
      bar.append(tab);
    });
    bar.append(
      h('span', { class: 'spring' }),
      h('button', { type: 'button', class: 'quiet', onclick: () => start(null) }, 'Open another…'),
    );
    bar.addEventListener('keydown', (e) => this.tabKey(e));
    document.onkeydown = (e) => this.key(e);
    return bar;
  }

  private tabKey(e: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    const now = VIEWS.findIndex((v) => v.id === this.app.store.state.view);
    const next = VIEWS[(now + step + VIEWS.length) % VIEWS.length]!;
    this.app.store.set({ view: next.id });
    this.tabs.get(next.id)?.focus();
  }

  private key(e: KeyboardEvent): void {
    const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
    const view = VIEWS[Number(e.key) - 1];
    if (!typing && !e.ctrlKey && !e.metaKey && !e.altKey && view) this.app.store.set({ view: view.id });
  }

  private showView(id: string): void {
    tooltip.hide();
    for (const [name, tab] of this.tabs) {
      tab.setAttribute('aria-selected', String(name === id));
      tab.tabIndex = name === id ? 0 : -1;
    }
    for (const [name, host] of this.hosts) host.hidden = name !== id;
    const view = VIEWS.find((v) => v.id === id);
    if (view && !this.instances.has(id)) {
      const host = h('div', { class: `view ${id}`, role: 'tabpanel', 'aria-labelledby': `tab-${id}` });
      this.stage.append(host);
      this.hosts.set(id, host);
      this.instances.set(id, view.create(this.app, host));
    }
    this.redraw();
  }

  private redraw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.update();
    });
  }

  private update(): void {
    try {
      this.instances.get(this.app.store.state.view)?.update();
    } catch (error) {
      this.app.fail(error);
    }
  }
}

async function open(source: Source): Promise<void> {
  fill(page, h('div', { class: 'empty' }, h('p', {}, `Opening ${source.name} …`)));
  try {
    new Page(await Trace.open(source));
  } catch (error) {
    start(`${source.name}: ${message(error)}`);
  }
}

function openFile(file: File | null | undefined): void {
  if (file) void open(new FileSource(file, file.name));
}

/** The page without a trace: choose a file, and what went wrong before if anything did. */
function start(problem: string | null): void {
  const input = h('input', { type: 'file', id: 'file', accept: '.mpix', onchange: () => openFile(input.files?.[0]) });
  document.title = 'mpitrace viewer';
  fill(
    page,
    h(
      'div',
      { class: 'empty start' },
      h('h1', {}, 'mpitrace'),
      problem ? h('p', { class: 'problem', role: 'alert' }, problem) : null,
      h('p', {}, 'Drop an .mpix file anywhere on this page, or'),
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

async function boot(): Promise<void> {
  acceptDrops();
  const asked = new URLSearchParams(location.search).get('src');
  if (!asked && !location.protocol.startsWith('http')) return start(null);
  try {
    const source = await openUrl(new URL(asked ?? 'trace.mpix', location.href));
    if (source) return await open(source);
    start(asked ? `There is no ${asked} on this server.` : null);
  } catch (error) {
    start(message(error));
  }
}

void boot();
