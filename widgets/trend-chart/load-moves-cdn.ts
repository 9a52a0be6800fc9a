/** Fetches bio-chart.js from where this script came: of the same version, and from an address that the page's policy allows. */
import type { MovesModule } from './moves-host.ts';

const script = globalThis.document?.currentScript;
const address = script instanceof HTMLScriptElement ? new URL('bio-chart.js', script.src).href : '';

export const loadMoves = (): Promise<MovesModule> => import(address) as Promise<MovesModule>;
