/** Debian's Chromium through playwright-core, for tests that need a real browser. */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

export const chromiumPath =
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path)) ?? null;

if (chromiumPath === null)
  console.warn('SKIPPED: no Chromium on this machine; install the Debian package `chromium` to run the browser tests');

export async function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath ?? '',
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
