// Debian's Chromium, with a profile of its own for each use, and pages that are signed in.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { signInLink } from './api.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--hide-scrollbars'];

/** Opens a browser until the test ends, whose pages record what went wrong in them. */
export async function openBrowser(t, options = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'plenary-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: FLAGS,
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  });
  const troubles = [];
  const listen = (page) => {
    page.on('pageerror', (error) => troubles.push(`error: ${error.message}\n${error.stack ?? ''}`));
    page.on('console', (said) => {
      if (said.type() === 'error' && !/Failed to load resource|net::ERR/.test(said.text())) troubles.push(`console: ${said.text()}`);
    });
  };
  context.on('page', listen);
  context.pages().forEach(listen);
  t.after(async () => {
    // A route under way would fail as its browser closes.
    await context.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    context,
    troubles,
    /** A page that is signed in by a link of its own. */
    async signedIn(server, token, body) {
      const page = await context.newPage();
      await page.goto(await signInLink(server.url, token, body));
      await page.locator('.shell').waitFor();
      // A context that is signed in already asks.
      const yes = page.getByRole('button', { name: 'Sign in by the link' });
      if (await yes.count()) {
        await yes.click();
        await yes.waitFor({ state: 'detached' });
        await page.waitForFunction(async () => document.querySelector('.shell') && !document.querySelector('dialog'));
      }
      return page;
    },
  };
}
