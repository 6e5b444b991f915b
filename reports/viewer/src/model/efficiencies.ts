/** The efficiencies after POP: name in the analysis, title, formula, and how deep it stands below the parallel efficiency. */
// prettier-ignore
export const EFFICIENCIES: readonly (readonly [string, string, string, number])[] = [
  // efficiencies: made by format/rows.py from format/efficiencies.tab
  ['parallel', 'parallel efficiency', 'load balance × communication = mean useful time of the ranks ÷ longest traced region', 0],
  ['load_balance', 'load balance', 'mean ÷ largest useful time of a rank', 1],
  ['communication', 'communication efficiency', 'serialization × transfer = largest useful time of a rank ÷ longest traced region', 1],
  ['serialization', 'serialization', 'largest useful time ÷ time with ideal transfers', 2],
  ['transfer', 'transfer', 'time with ideal transfers ÷ time', 2],
  // /efficiencies
];
