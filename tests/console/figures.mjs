// Times of frames in a page, and the measured figures of docs/console.md.
import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../../docs/console.md', import.meta.url);

/** Puts a figure into its row of the table in docs/console.md, where the documentation is asked for. @param {string} name @param {string} measured */
export const record = (name, measured) => {
  if (!process.env.PLENARY_TEST_DOCS) return;
  const text = readFileSync(PAGE, 'utf8');
  const row = new RegExp(`^(\\| ${name} \\| [^|]+ \\|)[^|]*\\|$`, 'm');
  if (!row.test(text)) throw new Error(`docs/console.md has no row "${name}"`);
  writeFileSync(PAGE, text.replace(row, `$1 ${measured} |`));
};

/**
 * Times frames in which something happens and frames in which nothing does, in turns, so that whatever else the machine does meets
 * both. `act` names a function of the page that gets the number of the step.
 * @param {import('playwright-core').Page} page @param {string} act @param {number} steps
 */
export const frames = (page, act, steps) =>
  page.evaluate(async ([name, count]) => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => done(performance.now())));
    const times = { idle: [], busy: [] };
    for (let n = 0; n < count; n++) {
      for (const kind of ['idle', 'busy']) {
        const began = await frame();
        if (kind === 'busy') globalThis[name](n);
        times[kind].push((await frame()) - began);
      }
    }
    for (const all of Object.values(times)) all.sort((a, b) => a - b);
    const at = (all, part) => all[Math.floor(all.length * part)];
    return { idle: at(times.idle, 0.5), median: at(times.busy, 0.5), p95: at(times.busy, 0.95) };
  }, [act, steps]);

/** In words. @param {{idle: number, median: number, p95: number}} times */
export const inWords = ({ idle, median, p95 }) => `${median.toFixed(1)} ms (95 % at most ${p95.toFixed(1)} ms), ${(median / idle).toFixed(2)} times one in which nothing happens`;
