/** Live frames and states of one person as the widgets show them. */
import type { LiveFrame as Frame } from '../../sdk/frame.ts';
import type { ConnectionState } from '../../sdk/live-connection.ts';

export type LiveChannel = Frame['channels'][number] &
  Readonly<{
    /** Unique within the frame: the code, and the device where a person wears several. */
    id: string;
    rateHz: number;
    /** Time of the first sample after the frame's t0. */
    offsetNs: number;
  }>;
export type LiveFrame = Omit<Frame, 'channels' | 'features'> &
  Readonly<{ channels: readonly LiveChannel[]; features: readonly (Frame['features'][number] & Readonly<{ timeMs: number }>)[] }>;

/** Those of the connection; one that is lost is `offline` until the next attempt. */
export type LiveState = Exclude<ConnectionState, 'waiting'>;

/** A frame with rates in Hz and one id for each of its channels. */
export function shownFrame(frame: Frame): LiveFrame {
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
