// states.mjs - consistent global states: what is shown, stepping, seeking, running to, containers, communicators, the address.
// Each takes the browser and the tools of run.mjs.
import { readFileSync } from 'node:fs';
import { record, recordHungPaused, recordHungTotals } from './record.mjs';

const set = (page, change) => page.evaluate((x) => globalThis.mpitrace.store.setView('states', x), change);
const own = (page) => page.evaluate(() => globalThis.mpitrace.store.state.views.states);
const note = (page) => page.textContent('.view.states .note');
const at = (page, step) => page.waitForFunction((n) => globalThis.mpitrace.drawn.statesStep === n, step);

async function show(page, t, file) {
  await t.pick(page, file);
  await page.click('#tab-states');
  await t.settled(page);
  await page.waitForFunction(() => globalThis.mpitrace.drawn.statesWhole === true);
  await t.settled(page);
}

async function icon(page, name) {
  const box = await page.locator('.states .layer').boundingBox();
  const icons = (await page.evaluate(() => globalThis.mpitrace.drawn.statesIcons)) ?? [];
  const found = icons.find((x) => x.name === name);
  if (!found) throw new Error(`no icon ${name} of ${icons.map((x) => x.name).join(' ')}`);
  return { x: box.x + found.x, y: box.y + found.y };
}

async function testStates(browser, t) {
  const page = await t.newPage(browser);
  await t.check('a state has an icon for each process, and all changes are counted', async () => {
    await show(page, t, t.small);
    const { statesIcons, statesTotal } = await t.drawn(page);
    t.same(statesIcons.map((x) => x.name).join(' '), '0 1 2 3 4 5 6 7', 'icons');
    // each of the calls is entered and left, each Allreduce completed
    t.truth(statesTotal > 2 * 3664 && statesTotal < 2 * 3664 + 100, `${statesTotal} changes`);
  });
  await t.check('one step is one change, said in words; back is where it was; Shift steps by 100', async () => {
    await set(page, { step: 300 });
    await at(page, 300);
    const before = await t.drawn(page);
    await page.focus('.states .layer');
    await page.keyboard.press('ArrowRight');
    await at(page, 301);
    t.truth(/^State 301: (rank \d (enters|leaves) MPI_|all have come)/.test(await note(page)), await note(page));
    await page.keyboard.press('ArrowLeft');
    await at(page, 300);
    t.same((await t.drawn(page)).statesDoing, before.statesDoing, 'what processes do');
    await t.settled(page);
    await page.keyboard.press('Shift+ArrowRight');
    await at(page, 400);
  });
  await t.check('what a process waits for is written in words', async () => {
    await set(page, { stop: 'blocks', rank: 3 });
    await t.settled(page);
    await page.click('.states button[aria-label="Run to (R)"]');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesChange === 'rank 3 enters MPI_Waitall');
    await page.evaluate(() => globalThis.mpitrace.store.set({ selected: new Set([3]) }));
    await t.settled(page);
    const words = await page.textContent('.state-words');
    t.truth(/^rank 3 waits in MPI_Waitall \(.*halo\.c:\d+\).*, for ranks? .* not sent yet$/.test(words), words);
    await t.shot(page, 'states');
  });
  await t.check('it runs to the next collective that completes, whose icon is there before', async () => {
    await page.selectOption('.states select[aria-label="What to run to"]', 'completes');
    await page.focus('.states .layer');
    await page.keyboard.press('r');
    await page.waitForFunction(() => /^all have come to MPI_Allreduce/.test(globalThis.mpitrace.drawn.statesChange));
    t.same((await t.drawn(page)).statesCollectives, 0, 'collectives under way');
    await t.settled(page);
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesCollectives === 1);
    await t.shot(page, 'states-collective');
  });
  await t.check('it plays until it is stopped, and stops where it is to stop', async () => {
    await set(page, { step: 0, speed: 1000, stop: 'completes' });
    await at(page, 0);
    await t.settled(page);
    await page.focus('.states .layer');
    await page.keyboard.press(' ');
    await page.waitForFunction(() => /^all have come/.test(globalThis.mpitrace.drawn.statesChange), null, {
      timeout: 60000,
    });
    await page.waitForFunction(() => document.querySelector('.states button[aria-label="Play (Space)"]'));
  });
  await t.check(
    'a moment is sought; the cursor of the time line is there; the interval shown leads the state',
    async () => {
      await page.fill('.states input[aria-label="Moment in milliseconds"]', '20');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => Math.abs(globalThis.mpitrace.drawn.statesTime - 20e6) < 1e6);
      const { moment } = await own(page);
      t.truth(moment <= 20e6 && moment > 19e6, `${moment}`);
      await t.interval(page, 40e6, 50e6);
      await page.waitForFunction(() => globalThis.mpitrace.drawn.statesTime > 39e6);
      await page.evaluate(() => globalThis.mpitrace.store.showAll());
    },
  );
  await t.check(
    'how many are in which state over the interval is drawn below: at each moment as the state there has it',
    async () => {
      await t.interval(page, 20e6, 60e6);
      const done = () => {
        const c = globalThis.mpitrace.drawn.statesCensus;
        return c && c.from === 20e6 && c.counted === c.moments;
      };
      await page.waitForFunction(done);
      const c = await page.evaluate(() => {
        const { from, to, moments, counts } = globalThis.mpitrace.drawn.statesCensus;
        return { from, to, moments, counts: [...counts] };
      });
      t.truth(c.moments > 100, `${c.moments} moments`);
      for (const i of [3, Math.floor(c.moments / 2), c.moments - 4]) {
        const time = c.from + ((i + 0.5) / c.moments) * (c.to - c.from);
        await set(page, { step: -1, moment: time });
        await page.waitForFunction((ns) => Math.abs(globalThis.mpitrace.drawn.statesTime - ns) < 1e6, time);
        await t.settled(page);
        const { statesDoing } = await t.drawn(page);
        t.same(c.counts.slice(8 * i, 8 * i + 8), [...statesDoing], `moment ${i}`);
      }
      const box = await page.locator('.states .census').boundingBox();
      await page.mouse.click(box.x + box.width / 4, box.y + box.height / 2);
      await page.waitForFunction(() => Math.abs(globalThis.mpitrace.drawn.statesTime - 30e6) < 1.5e6);
      t.truth(/8 processes/.test(await page.textContent('.tooltip')), await page.textContent('.tooltip'));
      await t.shot(page, 'states-census');
      await page.evaluate(() => globalThis.mpitrace.store.showAll());
    },
  );
  await t.check('the address holds the state', async () => {
    await set(page, { step: 1234 });
    await at(page, 1234);
    await page.waitForFunction(() => location.hash.includes('states.step=1234'));
    const doing = (await t.drawn(page)).statesDoing;
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.setInputFiles('#file', t.small);
    await t.settled(page);
    await at(page, 1234);
    t.same((await t.drawn(page)).statesDoing, doing, 'what processes do');
  });
  await t.check('the table twin and the CSV say of each process what it does', async () => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.selectOption('.export', 'csv')]);
    const lines = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\n');
    t.same(lines.length, 9, 'lines');
    t.truth(/^0,/.test(lines[1]) && /rank 7/.test(lines[8]), lines[8]);
  });
  await page.close();
}

async function testStateContainers(browser, t) {
  const page = await t.newPage(browser);
  await t.check('icons are dragged together into a container, which opens, and is kept in the address', async () => {
    await show(page, t, t.small);
    await set(page, { step: 300 });
    await at(page, 300);
    await t.settled(page);
    const [a, b] = [await icon(page, 2), await icon(page, 3)];
    await page.mouse.move(a.x, a.y);
    await page.mouse.down();
    await page.mouse.move(b.x, b.y, { steps: 6 });
    await page.mouse.up();
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.states.own.length === 1);
    t.same((await own(page)).own, ['group%201|2-3'], 'own containers');
    await t.settled(page);
    t.same((await t.drawn(page)).statesIcons.length, 7, 'icons');
    await page.waitForFunction(() => location.hash.includes('states.own='));
    const g = await icon(page, 'group 1');
    await page.mouse.click(g.x, g.y);
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesIcons.some((x) => x.open));
    t.same((await t.drawn(page)).statesIcons.length, 9, 'icons');
    await t.shot(page, 'states-open');
  });
  await t.check('what happens within a closed container is skipped', async () => {
    await set(page, { own: ['all|0-7'], open: [], step: 300 });
    await at(page, 300);
    await t.settled(page);
    await page.focus('.states .layer');
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesStep === globalThis.mpitrace.drawn.statesTotal);
    await set(page, { own: ['some|0-3'], step: 300 });
    await at(page, 300);
    await t.settled(page);
    for (let n = 0; n < 6; n++) {
      const now = (await t.drawn(page)).statesStep;
      await page.focus('.states .layer');
      await page.keyboard.press('ArrowRight');
      await page.waitForFunction((before) => globalThis.mpitrace.drawn.statesStep > before, now);
      await t.settled(page);
    }
    t.truth((await t.drawn(page)).statesStep > 306, 'steps within were skipped');
  });
  await t.check('a communicator is chosen by keyboard, of those alive in this state', async () => {
    await page.focus('.states summary');
    await page.keyboard.press('Enter');
    await page.check('.state-comms input');
    await t.settled(page);
    t.same((await own(page)).comms, [0], 'communicators');
    await t.shot(page, 'states-communicators');
  });
  await t.check('64 processes are icons, 1,024 stand in containers; dark; 400 pixels', async () => {
    await show(page, t, t.make('states64.mpix', 8, 8, 10));
    t.same((await t.drawn(page)).statesIcons.length, 64, 'icons');
    await set(page, { step: 1500 });
    await at(page, 1500);
    await t.settled(page);
    await t.shot(page, 'states-64');
    await show(page, t, t.make('states1024.mpix', 32, 32, 5));
    t.truth((await t.drawn(page)).statesIcons.length <= 64, 'icons');
    await set(page, { step: 20000 });
    await at(page, 20000);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await t.settled(page);
    await t.shot(page, 'states-1024-dark');
    await page.setViewportSize({ width: 400, height: 800 });
    await t.settled(page);
    t.same(await page.evaluate(() => document.documentElement.scrollWidth), 400, 'width');
    await t.shot(page, 'states-narrow');
  });
  await page.close();
}

const words = (page) => page.textContent('.state-words');
const seekEnd = async (page, t) => {
  await page.focus('.states .layer');
  await page.keyboard.press('End');
  await page.waitForFunction(() => globalThis.mpitrace.drawn.statesStep === globalThis.mpitrace.drawn.statesTotal);
  await t.settled(page);
};

async function run(page, t, stop) {
  const before = (await t.drawn(page)).statesStep;
  await set(page, { stop });
  await t.settled(page);
  await page.focus('.states .layer');
  await page.keyboard.press('r');
  await page.waitForFunction((n) => globalThis.mpitrace.drawn.statesStep > n, before);
  await t.settled(page);
}

async function testStateDeadlock(browser, t) {
  const file = record(t.mpitrace, t.work, 3, 'stuck', 'receives_later');
  if (!file) return;
  const page = await t.newPage(browser);
  await t.check(
    '"the next error" is the cycle of sends, if all were in them at once, then the deadlock, whose cycle is drawn and named',
    async () => {
      await show(page, t, file);
      await set(page, { step: 0 });
      await at(page, 0);
      await t.settled(page);
      t.same((await t.drawn(page)).statesCycle, [], 'no cycle at the beginning');
      await run(page, t, 'error');
      const first = await t.drawn(page);
      t.truth(first.statesStep > 0, `${first.statesStep}`);
      if (!(await words(page)).startsWith('deadlock')) {
        await run(page, t, 'error');
        const { statesTime } = await t.drawn(page);
        t.truth(statesTime > first.statesTime, `${statesTime} after ${first.statesTime}`);
      }
      const d = await t.drawn(page);
      t.same(d.statesCycle, [0, 2, 1], 'the cycle');
      const text = await words(page);
      t.truth(/^deadlock: ranks 0 → 2 → 1 → 0 wait for each other/.test(text), text);
      await t.shot(page, 'states-deadlock');
    },
  );
  await t.check(
    'in the end nobody comes back from its last call, and words say who waits for whom in what',
    async () => {
      await seekEnd(page, t);
      const d = await t.drawn(page);
      t.same([d.statesDoing[4], d.statesDoing[6], d.statesCycle], [3, 0, [0, 2, 1]], 'all wait, nobody is dead, cycle');
      const text = await words(page);
      t.truth(/Rank 0 waits in MPI_Recv for rank 2, rank 2 waits in MPI_Recv for rank 1/.test(text), text);
      t.truth(/rank 0 waits in MPI_Recv .*for rank 2 and never comes back/.test(text), text);
    },
  );
  await page.close();
}

/** Pixels of the colour of waiting in each of so many equal parts of an element, from left to right. */
async function waitingIn(page, t, selector, parts) {
  const box = await page.locator(selector).boundingBox();
  const width = box.width / parts;
  const counts = [];
  for (let k = 0; k < parts; k++)
    counts.push(await t.pixels(page, [0xd5, 0x5e, 0x00], { ...box, x: box.x + k * width, width }));
  return counts;
}

async function testStateTotals(browser, t) {
  const file = recordHungTotals(t.mpitrace, t.work, 3, 'stuck', 'receives_later', 'for_ever');
  if (!file) return;
  const page = await t.newPage(browser);
  const sentence = () => page.textContent('.only-totals');
  await t.check(
    'of a run that hung, of which only totals were recorded, the timeline draws the calls that it hung in, waiting to the end',
    async () => {
      await t.pick(page, file);
      const d = await t.drawn(page);
      t.same([d.events, await page.locator('.stage .empty').count()], [0, 0], 'no calls, and nothing in the way');
      t.truth(/^Only totals were recorded: /.test(await sentence()), await sentence());
      const { from, to } = await t.state(page);
      const begin = await page.evaluate(() => {
        const rows = globalThis.mpitrace.trace.analysis.per_rank;
        return Math.max(...rows.map((x) => x.open[0].from_s * 1e9));
      });
      t.truth(begin > from && begin < to / 2, `${begin} of ${to}`);
      await t.interval(page, 0, 2 * begin); // the second half of it is waiting
      await t.settled(page);
      const [before, after] = await waitingIn(page, t, '.bars', 2);
      t.truth(after > 5000 && before < 300, `${before} pixels of waiting before, ${after} behind`);
      await t.shot(page, 'totals-timeline');
      await page.evaluate(() => globalThis.mpitrace.store.showAll());
    },
  );
  await t.check('and States has who is in them, its cycle and census; before, it is not known', async () => {
    await page.click('#tab-states');
    await t.settled(page);
    t.truth(/^Only totals were recorded: /.test(await sentence()), await sentence());
    await set(page, { step: 0 });
    await at(page, 0);
    await t.settled(page);
    const first = await t.drawn(page);
    t.same([first.statesDoing, first.statesCycle], [[0, 0, 0, 0, 0, 0, 0, 3], []], 'of none it is known');
    t.truth(/0 of 3 processes wait, of 3 it is not known$/.test(await note(page)), await note(page));
    await seekEnd(page, t);
    const d = await t.drawn(page);
    t.same([d.statesStep, d.statesDoing], [3, [0, 0, 0, 0, 3, 0, 0, 0]], 'all wait, nobody is dead');
    t.same(d.statesCycle, [0, 2, 1], 'the cycle');
    const text = await words(page);
    t.truth(/rank 0 waits in MPI_Recv .*for rank 2 and never comes back: [\d.]+ s, to its end/.test(text), text);
    await page.waitForFunction(() => {
      const c = globalThis.mpitrace.drawn.statesCensus;
      return c && c.counted === c.moments;
    });
    const { counts, moments } = await page.evaluate(() => {
      const c = globalThis.mpitrace.drawn.statesCensus;
      return { counts: [...c.counts], moments: c.moments };
    });
    t.same([counts.slice(0, 8), counts.slice(8 * moments - 8)], [first.statesDoing, d.statesDoing], 'census');
    const shares = await waitingIn(page, t, '.census', 32); // it hangs after some percent of the run
    t.truth(shares[0] < shares[31] / 4 && shares[31] > 100, `${shares}`);
    await t.shot(page, 'totals-states');
  });
  await t.check('words that take room from the picture leave its circles round', async () => {
    await set(page, { step: 0 }); // fewer words
    await at(page, 0);
    await t.settled(page);
    const stage = await page.locator('.states .layer').boundingBox();
    const drawnAs = await page.evaluate(() => {
      const c = document.querySelector('.states .layer');
      return [c.width / devicePixelRatio, c.height / devicePixelRatio];
    });
    t.same(
      drawnAs.map((x) => Math.round(x)),
      [Math.round(stage.width), Math.round(stage.height)],
      'pixels',
    );
  });
  await page.close();
}

async function testStatePaused(browser, t) {
  const file = recordHungPaused(t.mpitrace, t.work, 4, 'receives', 'for_ever');
  if (!file) return;
  const page = await t.newPage(browser);
  await t.check(
    'where single calls stopped being recorded before a run hung, the timeline says that it is not known',
    async () => {
      await t.pick(page, file);
      const text = await page.textContent('.only-totals');
      t.truth(/^Of all ranks single calls are missing, the first from [\d.]+ m?s on: .*hatched/.test(text), text);
      const [until, begin] = await page.evaluate(() => {
        const rows = globalThis.mpitrace.trace.analysis.per_rank;
        const last = (of) => Math.max(...rows.map((x) => of(x) * 1e9));
        return [last((x) => x.recorded_until_s), last((x) => x.open[0].from_s)];
      });
      t.truth(until < begin, `${until} ${begin}`);
      await t.interval(page, until, 2 * begin - until);
      await t.settled(page);
      const shades = await page.evaluate(() => {
        const bars = document.querySelector('.bars');
        const [x, y] = [0.3 * bars.width, 0.14 * bars.height]; // in the first bar
        const { data } = bars.getContext('2d').getImageData(x, y, 40, 4);
        return new Set(new Uint32Array(data.buffer)).size;
      });
      t.truth(shades > 1, 'hatched: one colour is outside MPI');
      const [before, after] = await waitingIn(page, t, '.bars', 2);
      t.truth(after > 5000 && before < 300, `${before} pixels of waiting before, ${after} behind`);
      await t.shot(page, 'paused-timeline');
      await page.evaluate(() => globalThis.mpitrace.store.showAll());
    },
  );
  await t.check('its table and CSV have the calls that ranks never came back from', async () => {
    await t.settled(page);
    const [csv] = await Promise.all([page.waitForEvent('download'), page.selectOption('.export', 'csv')]);
    const lines = readFileSync(await csv.path(), 'utf8')
      .trim()
      .split('\n');
    t.same(lines.filter((x) => /,MPI_Recv,[^,]*,[\d.]+,no,/.test(x)).length, 4, `not returned: ${lines[0]}`);
    await page.focus('.stage');
    await page.keyboard.press('t');
    await page.waitForSelector('dialog.twin[open] .grid-body .grid-row');
    t.same(await page.getAttribute('dialog.twin .grid', 'aria-rowcount'), String(lines.length), 'rows');
    await t.shot(page, 'paused-twin');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog.twin', { state: 'detached' });
  });
  await t.check('States has these calls behind all others, and before them it is not known', async () => {
    await page.click('#tab-states');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesWhole === true);
    await seekEnd(page, t);
    const end = await t.drawn(page);
    t.same([end.statesDoing, end.statesCycle.length], [[0, 0, 0, 0, 4, 0, 0, 0], 4], 'all wait');
    await set(page, { step: end.statesStep - 4 });
    await at(page, end.statesStep - 4);
    await t.settled(page);
    t.same((await t.drawn(page)).statesDoing, [0, 0, 0, 0, 0, 0, 0, 4], 'of none it is known');
    t.truth(/0 of 4 processes wait, of 4 it is not known$/.test(await note(page)), await note(page));
    await t.shot(page, 'paused-states');
  });
  await page.close();
}

async function testStateDeath(browser, t) {
  const file = record(t.mpitrace, t.work, 4, 'deaths', 'segv');
  if (!file) return;
  const page = await t.newPage(browser, { colorScheme: 'dark' });
  await t.check('the dead are crossed out, who died first is named first, those it took along after it', async () => {
    await show(page, t, file);
    await seekEnd(page, t);
    const d = await t.drawn(page);
    t.same(d.statesDoing[6], 1, 'dead: the others were ended in their calls');
    t.truth(/^rank 2 .*dies outside MPI/.test(d.statesWords[0]), d.statesWords[0]);
    t.truth(/1 dead/.test(await note(page)), await note(page));
    await t.shot(page, 'states-death-dark');
  });
  await page.close();
}

async function testStateFan(browser, t) {
  const file = record(t.mpitrace, t.work, 4, 'counts_coll');
  if (!file) return;
  const page = await t.newPage(browser);
  await t.check('a broadcast under way is a fan from its root', async () => {
    await show(page, t, file);
    await set(page, { step: 0 });
    await at(page, 0);
    for (let n = 0; n < 200 && !(await t.drawn(page)).statesActive.includes('MPI_Bcast 0'); n++) {
      const { statesStep } = await t.drawn(page);
      await t.settled(page);
      await page.focus('.states .layer');
      await page.keyboard.press('ArrowRight');
      await page.waitForFunction((was) => globalThis.mpitrace.drawn.statesStep > was, statesStep);
    }
    await t.settled(page);
    t.truth((await t.drawn(page)).statesActive.includes('MPI_Bcast 0'), 'no broadcast under way');
    await t.shot(page, 'states-fan');
  });
  await page.close();
}

async function testStateBreakpoint(browser, t) {
  const page = await t.newPage(browser);
  await t.check('playing stops where rank 3 has to wait', async () => {
    await show(page, t, t.small);
    await set(page, { step: 0, speed: 300, stop: 'blocks', rank: 3 });
    await at(page, 0);
    await t.settled(page);
    await page.focus('.states .layer');
    await page.keyboard.press(' ');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.statesChange === 'rank 3 enters MPI_Waitall');
    await page.waitForFunction(() => document.querySelector('.states button[aria-label="Play (Space)"]'));
    await t.settled(page);
    t.same((await t.drawn(page)).statesChange, 'rank 3 enters MPI_Waitall', 'where it stopped');
    t.truth(/of 8 processes wait/.test(await note(page)), await note(page));
  });
  await page.close();
}

async function dragTo(page, t, from, to) {
  const [a, b] = [await icon(page, from), typeof to === 'object' ? to : await icon(page, to)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move(b.x, b.y, { steps: 6 });
  await page.mouse.up();
  await t.settled(page);
}

/** Through the icons by keyboard, until that is there which a container has. */
async function stepTo(page, t, what) {
  await page.focus('.states .layer');
  for (let n = 0; n < 9 && !(await page.isVisible(what)); n++) {
    await page.keyboard.press('n');
    await t.settled(page);
  }
}

async function testStateNesting(browser, t) {
  const page = await t.newPage(browser);
  const own = (p) => p.evaluate(() => globalThis.mpitrace.store.state.views.states.own.map(decodeURIComponent));
  await t.check('containers nest, take a name, and let their processes out again', async () => {
    await show(page, t, t.small);
    await set(page, { step: 300 });
    await at(page, 300);
    await t.settled(page);
    await dragTo(page, t, 0, 1);
    await dragTo(page, t, 6, 7);
    t.same(await own(page), ['group 1|0-1', 'group 2|6-7'], 'two');
    await dragTo(page, t, 'group 2', 'group 1');
    t.same(await own(page), ['group 1|0-1', 'group 1/group 2|6-7'], 'nested');
    await stepTo(page, t, 'input[aria-label="Name of the container"]');
    await page.fill('input[aria-label="Name of the container"]', 'left/half');
    await page.keyboard.press('Enter');
    await t.settled(page);
    t.same(await own(page), ['left∕half|0-1', 'left∕half/group 2|6-7'], 'renamed');
    const g = await icon(page, 'left∕half');
    await page.mouse.click(g.x, g.y);
    await t.settled(page);
    const stage = await page.locator('.states .layer').boundingBox();
    await dragTo(page, t, 0, { x: stage.x + 3, y: stage.y + 3 });
    t.same(await own(page), ['left∕half|1', 'left∕half/group 2|6-7'], 'taken out');
  });
  await t.check('a container has the stage for itself, the others are one icon, and the address knows', async () => {
    await set(page, { own: ['half|0-3'], open: [], window: '' });
    await t.settled(page);
    await stepTo(page, t, 'button:has-text("Own window")');
    await page.focus('.states .layer');
    await page.keyboard.press('w');
    await page.waitForFunction(() => location.hash.includes('states.window=half'));
    await t.settled(page);
    t.same((await t.drawn(page)).statesIcons.map((x) => x.name).join(' '), '0 1 2 3 outside', 'icons');
    await t.shot(page, 'states-window');
    await page.click('button:has-text("← all (now half)")');
    await t.settled(page);
    t.same((await t.drawn(page)).statesIcons.length, 5, 'icons');
  });
  await page.close();
}

export const STATE_CLAIMS = [
  testStates,
  testStateContainers,
  testStateDeadlock,
  testStateTotals,
  testStatePaused,
  testStateDeath,
  testStateFan,
  testStateBreakpoint,
  testStateNesting,
];
