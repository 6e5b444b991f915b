// dashboard.mjs - contrib/grafana/fleet.json is a dashboard by Grafana's own types, and each of its panels by those of
// its kind: @grafana/schema, asked by the TypeScript compiler. Its questions are asked of a real store elsewhere
// (tests/integration/publish_servers.py). node dashboard.mjs DASHBOARD WORKDIR; ends with "N passed, N failed".
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packages } from './chromium.mjs';
import { check, end, truth } from './claims_said.mjs';

const [path, work] = process.argv.slice(2, 4).map((p) => resolve(p));
const OPTIONS = ['--noEmit', '--strict', '--skipLibCheck', '--moduleResolution', 'bundler', '--target', 'es2022'];
const KINDS = ['stat', 'timeseries', 'barchart', 'table'];

/** What a compiler holds to the types: JSON has words where they have enumerations. */
function program(dashboard) {
  const { panels, ...head } = structuredClone(dashboard);
  const lines = [
    "import type { Dashboard, Panel } from '@grafana/schema';",
    ...KINDS.map(
      (kind) =>
        `import type * as ${kind} from './node_modules/@grafana/schema/dist/types/raw/composable/${kind}/panelcfg/x/types.gen';`,
    ),
    'type Words<T> = T extends string ? `${T}` : T extends (infer U)[] ? Words<U>[]',
    '  : T extends object ? { [K in keyof T]: Words<T[K]> } : T;',
    `export const head: Words<Dashboard> = ${JSON.stringify(head)};`,
  ];
  panels.forEach(({ options = {}, ...panel }, i) => {
    const custom = panel.fieldConfig?.defaults?.custom ?? {};
    delete panel.fieldConfig?.defaults?.custom;
    lines.push(`export const panel${i}: Words<Panel> = ${JSON.stringify(panel)};`);
    lines.push(`export const options${i}: Words<Partial<${panel.type}.Options>> = ${JSON.stringify(options)};`);
    if (panel.type !== 'stat')
      lines.push(`export const field${i}: Words<Partial<${panel.type}.FieldConfig>> = ${JSON.stringify(custom)};`);
  });
  return lines.join('\n') + '\n';
}

/** What the compiler has against it: lines of text. */
function against(require, name, dashboard) {
  const file = join(work, `${name}.ts`);
  writeFileSync(file, program(dashboard));
  const run = spawnSync(process.execPath, [require.resolve('typescript/bin/tsc'), ...OPTIONS, file], { cwd: work });
  return String(run.stdout) + String(run.stderr) + (run.status === 0 ? '' : `exit ${run.status}`);
}

/** Copies that are wrong in one place each. */
const WRONG = {
  'a panel whose grid has a word for a width': (d) => (d.panels[0].gridPos.w = 'wide'),
  'a word that no option has': (d) => (d.panels[0].options.colorMode = 'rainbow'),
  'an option that there is none of': (d) => (d.panels[5].options.legend.where = 'bottom'),
  'a variable without a type': (d) => delete d.templating.list[0].type,
};

mkdirSync(work, { recursive: true });
const require = packages(work);
const dashboard = JSON.parse(readFileSync(path));
await check('the dashboard, its panels and their options are what Grafana has types for', () => {
  truth(
    dashboard.panels.every((p) => KINDS.includes(p.type)),
    'kinds of panels',
  );
  const said = against(require, 'dashboard', dashboard);
  truth(said === '', said);
});
for (const [what, spoil] of Object.entries(WRONG))
  await check(`${what} is not`, () => {
    const copy = structuredClone(dashboard);
    spoil(copy);
    truth(against(require, 'wrong', copy).includes('error TS'), 'nothing was said');
  });
end();
