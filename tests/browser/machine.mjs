// machine.mjs - the machine view in Chromium: what is drawn, what a pointer is told, what the address keeps, what plays, and what a browser
// without WebGL shows.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

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
    t.truth(/8 live ranks, 6\d\d messages/.test(await page.textContent('.machine .note')), 'note');
    await t.shot(page, 'machine');
    await set(page, { flows: ['intra-node'] });
    await page.waitForFunction(() => globalThis.mpitrace.drawn.machineArcs < 24);
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
    await page.waitForFunction(() => /This is no map/.test(document.querySelector('.alert').textContent));
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
      await t.shot(page, 'machine-isolated');
      await page.click('.machine-panel button:has-text("Go to its time")');
      await page.waitForFunction(() => globalThis.mpitrace.store.state.from === 5e6);
      await page.click('.machine .banner button');
      await page.waitForFunction(() => document.querySelector('.machine .banner').hidden);
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

export const MACHINE_CLAIMS = [testMachine, testMachineFlat, testMachineNarrow];
