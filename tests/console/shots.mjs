// Pictures of every page at three widths and in both themes, into `shots/`: `node shots.mjs [PAGE…]`.
import { mkdirSync } from 'node:fs';
import { openBrowser } from './browser.mjs';
import { seed } from './seed.mjs';
import { startServer } from './server.mjs';

const SIZES = { wide: [1440, 900], middle: [1024, 768], phone: [390, 844] };
const ends = [];
const test = { after: (end) => ends.push(end) };
const server = await startServer();
try {
  const made = await seed(server.url, server.operator);
  const pages = {
    now: '#/now', inbox: '#/inbox', conversation: `#/conversations/${made.sessions.review}`, agents: '#/agents/@ida.scribe', timeline: '#/timeline', runs: '#/runs',
    context: '#/context/parser?package=pkg_lexer', facts: '#/context/parser?tab=facts', channels: '#/channels', compare: '#/context/parser?package=pkg_drop&with=pkg_lexer', map: '#/map', reach: '#/map/@ida.scribe?lines=reach', health: '#/health', access: '#/access', audit: '#/audit',
  };
  const wanted = process.argv.slice(2);
  const into = new URL('shots/', import.meta.url).pathname;
  mkdirSync(into, { recursive: true });
  for (const [size, [width, height]] of Object.entries(SIZES)) {
    for (const theme of ['light', 'dark']) {
      const browser = await openBrowser(test, { viewport: { width, height }, colorScheme: theme });
      const page = await browser.signedIn(server, made.owners.ida);
      for (const [name, hash] of Object.entries(pages).filter(([name]) => !wanted.length || wanted.includes(name))) {
        await page.evaluate((to) => (location.hash = to), hash);
        await page.waitForTimeout(3000);
        await page.screenshot({ path: `${into}${name}-${size}-${theme}.png` });
      }
      if (browser.troubles.length) console.log(size, theme, browser.troubles);
    }
  }
  console.log(into);
} finally {
  for (const end of ends) await end();
  await server.stop();
}
