/** The end of a session, which the page learns from an answer of the service. */
export const ENDED = 'bio:session-ended';

/** Say it when the service refuses the cookie. */
export const sessionEnded = (): void => void globalThis.dispatchEvent(new Event(ENDED));
