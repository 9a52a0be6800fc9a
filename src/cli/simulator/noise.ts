/** Noise of one channel, drawn sample by sample from its own seed, so that it does not depend on where the samples were cut. */
import { createRandom } from './random.ts';

export type NoiseLevels = Readonly<{
  /** Standard deviation of white noise (muscle, electronics), in the channel's unit. */
  white: number;
  /** Standard deviation of slow wander below about 0.3 Hz. */
  wander: number;
  /** Amplitude of the mains hum. */
  mains: number;
  mainsHz: number;
}>;

/** Adds noise to consecutive samples. Call it for every sample of the channel, once, in order. */
export type NoiseSource = (out: Float64Array, k0: number, moving: (k: number) => number) => void;

const WANDER_HZ = 0.3;
/** How much muscle noise and wander grow at 1 g of movement. */
const MOTION_GAIN = 6;

/** White noise, a first-order low-pass of white noise (wander) and a sine at the mains frequency.
 *  @param moving acceleration amplitude in g at a sample; white noise and wander grow with it */
export function createNoise(seed: number, label: string, fs: number, levels: NoiseLevels): NoiseSource {
  const random = createRandom(seed, `noise ${label}`);
  const decay = Math.exp((-2 * Math.PI * WANDER_HZ) / fs);
  const drive = Math.sqrt(1 - decay * decay);
  let wander = random.normal();
  return (out, k0, moving) => {
    for (let i = 0; i < out.length; i++) {
      const motion = 1 + MOTION_GAIN * moving(k0 + i);
      wander = decay * wander + drive * random.normal();
      const hum = levels.mains === 0 ? 0 : levels.mains * Math.sin((2 * Math.PI * levels.mainsHz * (k0 + i)) / fs);
      out[i]! += levels.white * Math.sqrt(motion) * random.normal() + levels.wander * motion * wander + hum;
    }
  };
}
