/** Live frames between bytes and values, for callers with a socket of their own. */
export { decodeFrame } from '../src/proto/frame-codec.ts';
export type { LiveChannel, LiveFeature, LiveFrame } from '../src/proto/frame-codec.ts';
