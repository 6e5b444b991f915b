// axe.mjs - what axe-core finds on a page as it is: missing names and labels, roles that do not fit, contrast, order of headings.
import { readFileSync } from 'node:fs';
import { packages } from './chromium.mjs';

const SHOWN = 3;

/** Of a page or a frame, with everything that is folded open; a line each. */
export async function barriers(page, work) {
  const code = readFileSync(packages(work).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(() => document.querySelectorAll('details').forEach((x) => (x.open = true)));
  await page.evaluate(`${code};0`); // not as an element: the policy of the page would not let it run
  const { violations, passes } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ['violations'], iframes: false }),
  );
  if (passes.length === 0) throw new Error('axe looked at nothing');
  return violations.map(({ id, help, nodes }) => {
    const where = nodes.slice(0, SHOWN).map((x) => x.html.slice(0, 100).replace(/\s+/g, ' '));
    return `${id}: ${help} (${nodes.length}): ${where.join(' ')}`;
  });
}
