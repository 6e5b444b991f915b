// claims_said.mjs - claims of a test of its own: each is said when it was tried, and how many held at the end.

let passed = 0;
let failed = 0;

export async function check(claim, test) {
  try {
    await test();
    passed++;
    console.log(`ok     ${claim}`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${claim}: ${error.message}`);
  }
}

export function truth(condition, what) {
  if (!condition) throw new Error(what);
}

export function same(got, want, what) {
  truth(
    JSON.stringify(got) === JSON.stringify(want),
    `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`,
  );
}

/** The last line; exit code 1 if any did not hold. */
export function end() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}
