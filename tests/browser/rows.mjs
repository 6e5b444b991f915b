// rows.mjs - the rows of the timeline: in which order they stand, which are folded and pinned, and the critical path over them. The SVG of the
// view has the labels and the path as text. Each takes the browser and the tools of run.mjs.
import { execFileSync } from 'node:child_process';
import { record } from './record.mjs';
import { exported } from './views.mjs';

const svgOf = async (page, t) => String((await exported(page, t, 'svg')).bytes);

/** What stands beside the rows, from above: ranks, and nodes where they begin. */
export async function labels(page, t, change, what = /^\d+$|^n\d+$/) {
  await t.rows(page, change);
  await t.settled(page);
  const texts = [...(await svgOf(page, t)).matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((m) => m[1]);
  return texts.filter((text) => what.test(text)).join(' ');
}

async function testRows(browser, t) {
  const page = await t.newPage(browser, { acceptDownloads: true });
  await t.pick(page, t.small);
  await t.check('rows are sorted by what their ranks did', async () => {
    t.same(await labels(page, t, {}), '0 n1 1 2 3 4 n2 5 6 7', 'by rank');
    const sorted = await labels(page, t, { sort: 'useful_s' });
    t.same(sorted.replace(/n\d /g, ''), '7 6 5 4 3 2 1 0', 'who computes longest first');
    t.same(await labels(page, t, { sort: '' }), '0 n1 1 2 3 4 n2 5 6 7', 'by rank again');
  });
  await t.check('rows are grouped by node and folded', async () => {
    t.same(await labels(page, t, { group: 'node', fold: true }), 'n1 n2', 'folded');
    await t.shot(page, 'folded');
    t.same(await labels(page, t, { group: '', fold: false }), '0 n1 1 2 3 4 n2 5 6 7', 'unfolded');
  });
  await t.check('ranks that are selected are pinned to the top', async () => {
    await page.evaluate(() => globalThis.mpitrace.store.set({ selected: new Set([6, 3]) }));
    const pinned = (await labels(page, t, { pin: true })).replace(/n\d /g, '');
    t.same(pinned, '3 6 0 1 2 4 5 7', 'pinned');
    t.same((await labels(page, t, { pin: false })).replace(/n\d /g, ''), '0 1 2 3 4 5 6 7', 'let go');
  });
  await page.close();
}

/** The points of the line that is the critical path. */
function pathIn(svg) {
  const line = [...svg.matchAll(/<path d="([^"]*)" fill="none"[^>]*stroke-linejoin="round"/g)].pop();
  return line ? [...line[1].matchAll(/[ML]\s*([\d.-]+)[ ,]([\d.-]+)/g)].map((m) => [Number(m[1]), Number(m[2])]) : [];
}

async function testCriticalPath(browser, t) {
  const trace = record(t.mpitrace, t.work, 2, 'headlines', 'even');
  if (!trace) return;
  const page = await t.newPage(browser, { acceptDownloads: true });
  await t.check('the critical path lies over its ranks, from segment to segment', async () => {
    const { critical_path: path } = JSON.parse(execFileSync(t.mpitrace, ['show', trace, '--json'], { maxBuffer: 1e8 }));
    await t.pick(page, trace);
    t.same(pathIn(await svgOf(page, t)).length, 0, 'points without');
    await page.getByTitle('Show the critical path').click();
    await t.settled(page);
    const points = pathIn(await svgOf(page, t));
    t.same(points.length, 2 * path.segments.length, 'points');
    const [first, last] = [path.segments[0], path.segments.at(-1)];
    const scale = (points.at(-1)[0] - points[0][0]) / (last.to_s - first.from_s);
    path.segments.forEach((s, i) => {
      const [a, b] = [points[2 * i], points[2 * i + 1]];
      t.truth(Math.abs(a[0] - points[0][0] - (s.from_s - first.from_s) * scale) < 1, `segment ${i} begins at ${a}`);
      t.truth(Math.abs(b[0] - points[0][0] - (s.to_s - first.from_s) * scale) < 1, `segment ${i} ends at ${b}`);
      const same = path.segments.findIndex((other) => other.rank === s.rank);
      t.truth(a[1] === b[1] && a[1] === points[2 * same][1], `segment ${i} is not on the row of rank ${s.rank}`);
    });
    await t.shot(page, 'critical_path');
  });
  await page.close();
}

export const ROW_CLAIMS = [testRows, testCriticalPath];
