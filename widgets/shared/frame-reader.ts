/** Live frames as the widgets use them: rates in Hz, one id per channel of the frame. The bytes are read by the SDK. */
import { decodeFrame } from '../../sdk/frame.ts';
import type { LiveFrame } from './live-feed.ts';

/** @throws when the bytes end early or are not a LiveFrame */
export function readFrame(bytes: Uint8Array): LiveFrame {
  const frame = decodeFrame(bytes);
  return {
    ...frame,
    channels: frame.channels.map((channel) => ({
      ...channel,
      id: channel.source === 0 ? channel.code : `${channel.code}@${channel.source}`,
      rateHz: channel.rateNanoHz / 1e9,
      offsetNs: channel.tOffsetNs,
    })),
    features: frame.features.map((feature) => ({ ...feature, timeMs: Number(feature.tsNs) / 1e6 })),
  };
}
