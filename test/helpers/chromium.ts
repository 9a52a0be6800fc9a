/** Debian's Chromium through playwright-core, for tests that need a real browser. Where its package chromium-headless-shell is installed,
 *  that is used: the same engine without windows, for a quarter of the CPU. */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

const headlessShell = '/usr/bin/chromium-headless-shell';

export const chromiumPath =
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', headlessShell].find((path) => existsSync(path)) ?? null;

if (chromiumPath === null)
  console.warn('SKIPPED: no Chromium on this machine; install the Debian package `chromium` to run the browser tests');

export async function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: existsSync(headlessShell) ? headlessShell : (chromiumPath ?? ''),
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-sync',
      '--disable-component-update',
      '--no-first-run',
      '--font-render-hinting=none',
    ],
  });
}
