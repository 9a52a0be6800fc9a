/** HTMLElement, or a stand-in where there is no DOM: the modules can be imported in Node (server rendering, tests of an application). */
const none = function none(): void {} as unknown as typeof HTMLElement;

export const ElementBase: typeof HTMLElement = globalThis.HTMLElement ?? none;
