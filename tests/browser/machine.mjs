// machine.mjs - the machine view in Chromium: what is drawn, what a pointer is told, what the address keeps, what plays, and what a browser
// without WebGL shows.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { record } from './record.mjs';

const set = (page, change) => page.evaluate((x) => globalThis.mpitrace.store.setView('machine', x), change);
const own = (page) => page.evaluate(() => globalThis.mpitrace.store.state.views.machine);

async function show(page, t, file) {
  await t.pick(page, file);
  await page.click('#tab-machine');
  await page.waitForFunction(() => globalThis.mpitrace.drawn.machineScene);
  await t.settled(page);
}

async function openMap(page, t, words, ranks) {
  const map = join(t.work, 'map.json');
  writeFileSync(map, execFileSync(t.mpitrace, ['topology', '--generate', words, '--ranks', String(ranks), '--json']));
  await page.setInputFiles('.map-file', map);
  await page.waitForFunction(() => globalThis.mpitrace.drawn.machineFrom === 'map');
  await t.settled(page);
}

async function testMachine(browser, t) {
  const page = await t.newPage(browser);
  await t.check('Three comes when the machine is opened, not before, under the policy of the page', async () => {
    await t.pick(page, t.small);
    t.same(await page.evaluate(() => typeof globalThis.mpitraceScene), 'undefined', 'before');
    await page.click('#tab-machine');
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineScene === 'webgl');
    await t.settled(page);
    t.same((await t.drawn(page)).machineNodes, 2, 'nodes');
  });
  await t.check('the arcs are the messages of the instant; words count them; seeking changes them', async () => {
    await set(page, { at: 50e6, halfLife: 9e6 });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineAt === 50e6 && globalThis.mpitrace.busy() === 0);
    await t.settled(page);
    const d = await t.drawn(page);
    t.same([d.machineExact, d.machineArcs, d.machineLive], [true, 24, 8], 'instant');
    t.truth(/8 ranks with traffic, 6\d\d messages/.test(await page.textContent('.machine .note')), 'note');
    await t.shot(page, 'machine');
    await set(page, { flows: ['intra-node'] });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineArcs < 24);
    t.truth(/of them switched on \d+, /.test(await page.textContent('.machine .note')), 'what switches leave');
    await set(page, { at: 0, flows: ['intra-node', 'inter-node', 'inter-switch'] });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineMessages === 0);
  });
  await t.check('playing moves the instant, pausing stops it, and it ends with the interval', async () => {
    await set(page, { at: 0, speed: 0.01 });
    await page.click('.machine .bottom button:has-text("Play")');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.machine.at > 1e6);
    await page.click('.machine .bottom button:has-text("Pause")');
    await set(page, { speed: 1000 });
    await page.click('.machine .bottom button:has-text("Play")');
    await page.waitForSelector('.machine .bottom button:has-text("Play")');
    const { at } = await own(page);
    t.same(at, Math.round(await page.evaluate(() => globalThis.mpitrace.trace.meta.runtime)), 'the end');
  });
  await t.check('a map of the command puts ranks on cores; the pointer is told node, core and binding', async () => {
    await openMap(page, t, 'racks=2,nodes=2,packages=2,cores=2', 8);
    t.same((await t.drawn(page)).machineNodes, 4, 'nodes');
    await set(page, { layout: 'top-down', azimuth: 0, elevation: 90, range: 0 });
    await t.settled(page);
    await page.focus('.machine [role=application]');
    await page.keyboard.press('n');
    const said = await page.textContent('.voice');
    t.truth(/rank 0, node r0n0, switches rack0, core 0, package 0/.test(said), said);
    await page.keyboard.press('Enter');
    await t.settled(page);
    t.same((await t.state(page)).selected, [0], 'selected');
    await set(page, { follow: true });
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.machine.range > 0);
    await t.settled(page);
    const box = await page.locator('.machine .stage').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForSelector('.tooltip:not([hidden])');
    const tip = await page.textContent('.tooltip');
    t.truth(/rank 0/.test(tip) && /r0n0/.test(tip) && /CPUs 0/.test(tip), tip);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await t.settled(page);
    t.same((await t.state(page)).selected, [], 'clicked');
    await t.shot(page, 'machine-map');
  });
  await t.check('what is no map is refused in words', async () => {
    writeFileSync(join(t.work, 'nomap.json'), '{}');
    await page.setInputFiles('.map-file', join(t.work, 'nomap.json'));
    await page.waitForFunction(() => /This is not a map/.test(document.querySelector('.alert').textContent));
    await page.click('.alert button');
  });
  await t.check(
    'isolating an issue says so, dims the rest, and stays through layouts until it is cleared',
    async () => {
      await set(page, { panel: true, section: 'issues', follow: false, range: 0 });
      await page.click('.machine-panel button:has-text("Isolate")');
      await page.waitForSelector('.machine .banner:not([hidden])');
      for (const layout of ['rack', 'line', 'blueprint']) {
        await set(page, { layout });
        await t.settled(page);
        const d = await t.drawn(page);
        t.same([d.machineHalos, d.machineArcs], [1, 0], layout);
      }
      t.truth(/Only: uneven work/.test(await page.textContent('.machine .banner')), 'banner');
      t.same((await t.drawn(page)).machineDimmed, 7, 'dimmed, of 8');
      await t.shot(page, 'machine-isolated');
      await page.click('.machine-panel button:has-text("Go to its time")');
      await page.waitForFunction(() => globalThis.mpitrace.store.state.from === 5e6);
      await page.click('.machine .banner button');
      await page.waitForFunction(() => document.querySelector('.machine .banner').hidden);
      t.same((await t.drawn(page)).machineDimmed, 0, 'dimmed no more');
    },
  );
  await t.check('the sections of the panel are tables of the analysis, and rows select their ranks', async () => {
    await set(page, { section: 'per_rank' });
    await page.waitForFunction(() => document.querySelectorAll('.machine-panel tbody tr').length === 8);
    await page.click('.machine-panel tbody tr:nth-child(4) button');
    await page.waitForFunction(() => [...globalThis.mpitrace.store.state.selected].join() === '3');
    await set(page, { section: 'summary' });
    await page.waitForSelector('.machine-panel td:has-text("runtime s")');
  });
  await t.check('what is drawn is as wide as its place, also when the panel takes of it', async () => {
    for (const panel of [false, true]) {
      await set(page, { panel });
      await t.settled(page);
      const [drawn, seen] = await page.evaluate(() => {
        const layer = [...document.querySelectorAll('.machine .stage canvas')].at(-1);
        return [layer.width, Math.round(layer.getBoundingClientRect().width * devicePixelRatio)];
      });
      t.truth(Math.abs(drawn - seen) <= 1, `panel ${panel}: drawn ${drawn}, seen ${seen}`);
    }
  });
  await t.check('the address brings camera, layout, instant, saved cameras and switches back', async () => {
    const saved = ['a%20b:rack:1:2:30:4:5:6'];
    await set(page, {
      layout: 'line',
      azimuth: 12,
      elevation: 34,
      range: 56,
      x: 1,
      y: 2,
      z: 3,
      at: 7e6,
      halos: ['root'],
      saved,
    });
    await page.waitForFunction(() => location.hash.includes('machine.saved'));
    const before = await own(page);
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.setInputFiles('#file', t.small);
    await page.waitForFunction(() => globalThis.mpitrace?.drawn.machineScene);
    await t.settled(page);
    t.same(await own(page), before, 'state');
    await page.selectOption('.cameras', 'go 0');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.machine.layout === 'rack');
    t.same((await own(page)).range, 30, 'camera');
  });
  await t.check('the keyboard turns, moves, zooms, steps and changes the layout', async () => {
    await page.focus('.machine [role=application]');
    const before = await own(page);
    for (const key of ['ArrowLeft', 'Shift+ArrowUp', '+', '.', 'l']) await page.keyboard.press(key);
    const after = await own(page);
    t.truth(after.layout === 'line' && after.at > before.at, JSON.stringify(after));
    await page.keyboard.press('Home');
    t.same((await own(page)).range, 0, 'all');
  });
  await t.check('a rank that is searched is selected and looked at', async () => {
    await page.fill('.machine .seek', '5');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => [...globalThis.mpitrace.store.state.selected].join() === '5');
    t.truth((await own(page)).range > 0, 'camera');
  });
  await page.close();
}

/** Where a place of the layout is on the screen, told by the view itself: the camera looks at it. */
async function middleOf(page) {
  const box = await page.locator('.machine .stage').boundingBox();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

const selected = async (page, t) => (await t.state(page)).selected;

async function testMachineSelect(browser, t) {
  const page = await t.newPage(browser);
  await t.check(
    'a node that is searched is looked at with its ranks; a click on it selects them, again lets go',
    async () => {
      await show(page, t, t.small);
      await openMap(page, t, 'racks=2,nodes=2,packages=2,cores=4', 8);
      await set(page, { layout: 'top-down', azimuth: 0, elevation: 90, range: 0 });
      await page.fill('.machine .seek', 'r1n0');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => [...globalThis.mpitrace.store.state.selected].join() === '4,5');
      await page.evaluate(() => globalThis.mpitrace.store.set({ selected: new Set() }));
      await t.settled(page);
      const p = await middleOf(page);
      let tip = '';
      for (let n = 0; n < 60 && !tip.startsWith('r1n0'); n++) {
        p.x += 10; // beside the ranks, still on the node
        await page.mouse.move(p.x, p.y);
        await t.settled(page); // the tooltip follows in a frame
        tip = await page.textContent('.tooltip');
      }
      t.truth(/r1n0/.test(tip) && /ranks2/.test(tip) && /rack1/.test(tip) && /cores8/.test(tip), tip);
      await page.mouse.click(p.x, p.y);
      t.same(await selected(page, t), [4, 5], 'selected');
      await page.mouse.click(p.x, p.y);
      t.same(await selected(page, t), [], 'let go');
    },
  );
  await t.check('what is neither rank nor node is said, and nothing changes', async () => {
    await page.fill('.machine .seek', 'r9n9');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /no rank or node r9n9/.test(document.querySelector('.voice').textContent));
    t.same(await selected(page, t), [], 'selected');
  });
  await page.close();
}

async function download(page, act) {
  const [file] = await Promise.all([page.waitForEvent('download'), act()]);
  return readFileSync(await file.path(), 'utf8');
}

async function testMachineFiles(browser, t) {
  const page = await t.newPage(browser);
  await t.check('a camera gets a name, goes to a file and comes back from it', async () => {
    await show(page, t, t.small);
    await set(page, { layout: 'line', azimuth: 10, elevation: 20, range: 30, x: 1, y: 2, z: 3 });
    await t.settled(page);
    page.once('dialog', (d) => void d.accept('from, above'));
    await page.selectOption('.cameras', 'save');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.machine.saved.length === 1);
    const text = await download(page, () => page.selectOption('.cameras', 'export'));
    t.same(JSON.parse(text).cameras[0].name, 'from, above', 'name');
    await page.selectOption('.cameras', 'forget');
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.machine.saved.length === 0);
    writeFileSync(join(t.work, 'cameras.json'), text);
    await page.locator('.machine input[type=file]').first().setInputFiles(join(t.work, 'cameras.json'));
    await page.waitForFunction(() => globalThis.mpitrace.store.state.views.machine.saved.length === 1);
    await set(page, { layout: 'rack', range: 0 });
    await t.settled(page);
    await page.selectOption('.cameras', 'go 0');
    const s = await own(page);
    t.same([s.layout, s.azimuth, s.elevation, s.range, s.x, s.y, s.z], ['line', 10, 20, 30, 1, 2, 3], 'camera');
  });
  await t.check('CSV, JSON, SVG and PNG hold the instant; with the panel open, its section', async () => {
    await set(page, { at: 50e6, halfLife: 9e6, range: 0 });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineAt === 50e6);
    await t.settled(page);
    const csv = (await download(page, () => page.selectOption('.export', 'csv'))).trim().split('\n');
    t.truth(/class,src,dst,messages,bytes/.test(csv[0]) && /^p2p,\d,\d,/.test(csv[1]), csv.slice(0, 2).join(' / '));
    const json = JSON.parse(await download(page, () => page.selectOption('.export', 'json')));
    t.truth(JSON.stringify(json).includes('MPI_Allreduce'), 'collectives in JSON');
    const svg = await download(page, () => page.selectOption('.export', 'svg'));
    t.truth(svg.includes('<svg') && svg.includes('MPI_Allreduce'), 'SVG');
    await set(page, { panel: true, section: 'per_rank' });
    await t.settled(page);
    const rows = (await download(page, () => page.selectOption('.export', 'csv'))).trim().split('\n');
    t.same(rows.length, 9, 'lines');
  });
  await page.close();
}

async function testMachineClasses(browser, t) {
  const page = await t.newPage(browser);
  await t.check('a collective is a knot above who is in it; classes are switched, and colour arcs', async () => {
    await show(page, t, t.small);
    await set(page, { at: 50e6, halfLife: 9e6 });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineAt === 50e6);
    await t.settled(page);
    const d = await t.drawn(page);
    t.same([d.machineKnots, d.machineTransfers], [['2 × MPI_Allreduce, 8 ranks'], 0], 'knots');
    t.truth(/2 collectives/.test(await page.textContent('.machine .note')), 'note');
    await t.shot(page, 'machine-collective');
    await set(page, { kinds: ['collective'], arcs: 'class' });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineArcs === 0);
    await page.waitForFunction(() => location.hash.includes('machine.kinds=collective'));
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.setInputFiles('#file', t.small);
    await page.waitForFunction(() => globalThis.mpitrace?.drawn.machineKnots?.length === 1);
    t.same((await own(page)).kinds, ['collective'], 'classes in the address');
    await set(page, { kinds: ['p2p'] });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineKnots.length === 0);
  });
  const file = record(t.mpitrace, t.work, 4, 'counts_rma');
  if (file)
    await t.check('one-sided transfers are arcs', async () => {
      await show(page, t, file);
      const runtime = await page.evaluate(() => globalThis.mpitrace.trace.meta.runtime);
      await set(page, { at: runtime, halfLife: runtime, kinds: ['one-sided'], arcs: 'class' });
      await page.waitForFunction(() => globalThis.mpitrace.drawn.machineTransfers > 20);
      await t.settled(page);
      t.truth((await t.drawn(page)).machineArcs > 3, 'arcs');
      await t.shot(page, 'machine-one-sided');
    });
  await page.close();
}

async function testMachineMarks(browser, t) {
  const file = record(t.mpitrace, t.work, 3, 'stuck', 'receives_later');
  if (!file) return;
  const page = await t.newPage(browser);
  const marks = async () => {
    await t.settled(page);
    const d = await t.drawn(page);
    return [d.machineHalos, d.machineLinks];
  };
  await t.check(
    'marks go by kind, severity and limit, and stay through layouts; words count what is left out',
    async () => {
      await show(page, t, file);
      await set(page, { halos: ['issue'], links: ['issue'], severity: 'low', limit: 20 });
      const [halos, links] = await marks();
      t.same([halos, links], [3, 2], 'all');
      for (const layout of ['rack', 'line', 'top-down']) {
        await set(page, { layout });
        t.same(await marks(), [3, 2], layout);
      }
      await set(page, { severity: 'high' });
      t.same(await marks(), [3, 1], 'severity');
      await set(page, { severity: 'low', limit: 1 });
      t.same(await marks(), [1, 1], 'limit');
      t.truth(/3 marks beyond the limit/.test(await page.textContent('.machine .note')), 'note');
      await set(page, { halos: [], links: [] });
      t.same(await marks(), [0, 0], 'none');
    },
  );
  await t.check('isolating an issue that names a pair shows its link, whatever is switched off', async () => {
    await set(page, { panel: true, section: 'issues', limit: 20 });
    await page.click('.machine-panel .card:has-text("deadlock") button:has-text("Isolate")');
    await page.waitForSelector('.machine .banner:not([hidden])');
    const [halos, links] = await marks();
    t.same([halos, links], [3, 1], 'isolated');
    await t.shot(page, 'machine-deadlock');
    await page.focus('.machine [role=application]');
    await page.keyboard.press('Escape');
    t.same(await marks(), [0, 0], 'cleared');
  });
  await page.close();
}

const SAMPLES = join(dirname(fileURLToPath(import.meta.url)), '../corpus/pyrite');

async function testPyrite(browser, t) {
  const page = await t.newPage(browser);
  for (const name of readdirSync(SAMPLES).filter((x) => x.endsWith('.mpic')))
    await t.check(`Pyrite's ${name} opens in every view without an error`, async () => {
      const trace = join(t.work, `${name}.mpix`);
      execFileSync(t.mpitrace, ['import', '--from', 'pyrite', join(SAMPLES, name), '-o', trace]);
      await t.pick(page, trace);
      const views = await page.locator('[role=tab]').evaluateAll((all) => all.map((x) => x.id));
      t.truth(views.length > 8, views.join(' '));
      for (const view of views) {
        await page.click(`#${view}`);
        await t.settled(page);
        t.truth(!(await page.isVisible('.alert')), `${view}: ${await page.textContent('.alert')}`);
      }
      await page.click('#tab-machine');
      await page.waitForFunction(() => globalThis.mpitrace.drawn.machineScene === 'webgl');
      const { ranks } = await page.evaluate(() => globalThis.mpitrace.trace.meta);
      await openMap(page, t, 'packages=2,cores=4', ranks);
      t.same((await t.drawn(page)).machineNodes, 1, 'nodes of the map');
    });
  await page.close();
}

async function testMachineFlat(browser, t) {
  const page = await t.newPage(browser);
  await t.check('without WebGL one sentence says so, and a flat map stands instead', async () => {
    await page.addInitScript(() => {
      const get = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind.startsWith('webgl') ? null : get.call(this, kind, ...rest);
      };
    });
    await show(page, t, t.small);
    t.same((await t.drawn(page)).machineScene, 'map', 'scene');
    t.truth(/draws no 3-D .* flat map/.test(await page.textContent('.machine .banner')), 'banner');
    const clip = await page.locator('.machine .stage').boundingBox();
    t.truth((await t.pixels(page, [0xdd, 0xe2, 0xea], clip)) > 2000, 'too little of the machine');
    await t.shot(page, 'machine-map-flat');
  });
  await page.close();
}

async function testMachineNarrow(browser, t) {
  const page = await t.newPage(browser, { viewport: { width: 400, height: 760 }, colorScheme: 'dark' });
  await t.check('400 pixels are enough for the machine', async () => {
    await show(page, t, t.small);
    t.same(await page.evaluate(() => document.documentElement.scrollWidth), 400, 'width');
    await t.shot(page, 'machine-narrow');
  });
  await page.close();
}

export const MACHINE_CLAIMS = [
  testMachine,
  testMachineSelect,
  testMachineFiles,
  testMachineClasses,
  testMachineMarks,
  testPyrite,
  testMachineFlat,
  testMachineNarrow,
];
