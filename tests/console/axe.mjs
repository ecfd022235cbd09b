// axe-core over what a page shows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds wrong with a page as it stands. */
export async function violations(page) {
  await page.evaluate(AXE);
  const { violations: found, passes } = await page.evaluate((tags) => globalThis.axe.run(document, { runOnly: tags }), TAGS);
  assert.ok(passes.length > 5, 'axe looked at the page');
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).slice(0, 3).join(' | ')}`);
}
