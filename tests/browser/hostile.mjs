// hostile.mjs - texts that try to leave the place they are put in: each way out of a context, with each thing that would run, load or
// disturb. Pure.
const WAYS_OUT = [
  '',
  '"',
  "'",
  '">',
  "'>",
  '</title>',
  '</style>',
  '</script>',
  '--><!-->',
  ']]>',
  '</svg>',
  '</td></tr></table>',
  '&quot;&gt;',
];
const PAYLOADS = [
  '<script>pwned()</script>',
  '<img src=x onerror=pwned()>',
  '<svg onload=pwned()>',
  '<iframe srcdoc="<script>parent.pwned()</script>"></iframe>',
  '<a href="javascript:pwned()">x</a>',
  ' onmouseover=pwned() autofocus onfocus=pwned() x=',
  '<base href=//example.org/>',
  '<meta http-equiv=refresh content="0;url=//example.org/">',
  '<link rel=stylesheet href=//example.org/x.css>',
  '<style>@import "//example.org/x.css";*{display:none}</style>',
  '<form action=//example.org/><input autofocus onfocus=pwned()>',
  '<object data="data:text/html,<script>pwned()</script>"></object>',
  '<details open ontoggle=pwned()>x</details>',
  '<math><mtext><script>pwned()</script>',
  '{"a":"</script><script>pwned()</script>"}',
];
const OTHERS = [
  '\u202egnp.exe',
  '\u001b[31mred\u001b[0m',
  '\ufeff\u2028\u2029\u200b',
  'a\nb\tc\rd\u007f\u009b',
  'x'.repeat(3000),
  '\u0301'.repeat(400),
  'javascript:pwned()',
  '%s%n%x${pwned()}{{constructor.constructor("pwned()")()}}',
  '../../../../etc/passwd',
  '=HYPERLINK("//example.org","x")',
  '\uff1dHYPERLINK("//example.org","x")',
  '\ud83d\udca9'.repeat(300),
  '   ',
];

export const HOSTILE = [...WAYS_OUT.flatMap((out) => PAYLOADS.map((x) => out + x)), ...OTHERS];

// Words of the schema: a page that knows one shows more than a page that does not, so both are tried.
const WORDS = new Set([
  'level',
  'state',
  'issue',
  'kind',
  'phase',
  'severity',
  'class',
  'pattern',
  'role',
  'time_of',
  'traffic',
  'finding',
]);

/** The same value with each text replaced by the next one. */
export function replaceTexts(value, next, words, key = '') {
  if (typeof value === 'string') return words && WORDS.has(key) ? value : next();
  if (Array.isArray(value)) return value.map((x) => replaceTexts(x, next, words, key));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, replaceTexts(v, next, words, k)]));
}

const typesOf = (schema) => [].concat(schema.type ?? (schema.properties ? 'object' : []));

/** The value with whatever text of the schema it lacks, and one row in lists that are empty: no field is left out. */
export function withAllTexts(value, schema) {
  const types = typesOf(schema);
  if (types.includes('object') && schema.properties) {
    const whole = value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {};
    for (const [key, of] of Object.entries(schema.properties)) {
      const filled = withAllTexts(whole[key], of);
      if (filled !== undefined) whole[key] = filled;
    }
    return whole;
  }
  if (types.includes('array') && schema.items) {
    const rows = Array.isArray(value) && value.length > 0 ? value : [undefined];
    const filled = rows.map((x) => withAllTexts(x, schema.items));
    return filled.some((x) => x !== undefined) ? filled : value;
  }
  if (types.includes('string')) return typeof value === 'string' ? value : (schema.enum?.[0] ?? 'text');
  return value ?? (types.includes('number') || types.includes('integer') ? 1 : undefined);
}

/** Where texts are in a value, as `callsites[].file`. */
export function textPaths(value, path = '', found = new Set()) {
  if (typeof value === 'string') found.add(path);
  else if (Array.isArray(value)) for (const x of value) textPaths(x, `${path}[]`, found);
  else if (value !== null && typeof value === 'object')
    for (const [k, v] of Object.entries(value)) textPaths(v, `${path}.${k}`, found);
  return found;
}

/** Where the schema has texts. */
export function schemaTextPaths(schema, path = '', found = new Set()) {
  if (typesOf(schema).includes('string')) found.add(path);
  for (const [k, v] of Object.entries(schema.properties ?? {})) schemaTextPaths(v, `${path}.${k}`, found);
  if (schema.items) schemaTextPaths(schema.items, `${path}[]`, found);
  return found;
}
