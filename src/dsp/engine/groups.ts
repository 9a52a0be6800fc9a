/** Decides which channels of a stream are computed together: a pure function of its configuration. */
import type { ChannelConfig, ChannelNo } from '../../signal.ts';
import { scaleOf } from './units.ts';

export type GroupLead = Readonly<{ code: string; channelNos: readonly ChannelNo[] }>;

/** Channels of one kind and rate, in units that are known. A lead is a channel code: one that came back with another gain (a new
 *  channelNo) is the same lead. */
export type ChannelGroup = Readonly<{
  kind: ChannelConfig['kind'];
  rateNanoHz: number;
  leads: readonly GroupLead[];
}>;

/** A group of ECG leads or PPG wavelengths, and what is computed from it besides beats. */
export type BeatPlan = Readonly<{
  group: ChannelGroup;
  source: 'ecg' | 'ppg';
  /** Does it give the stream's heart rate and variability? It has the stream's first lead, as its own first one. Of several, see
   *  primary-groups.ts. */
  primary: boolean;
  /** Does it give the stream's rate of breathing? Where no channel has it. */
  breathing: boolean;
  /** Three axes of an accelerometer that tell arm swing from pulse. */
  motion: ChannelGroup | null;
}>;

/** Slower accelerometers do not see arm swing. */
const accLowestHz = 10;

/** At most this many ECG leads of one rate are fused: the stream's first lead, and the first ones by channelNo. What the others would add
 *  is less than they cost. */
export const fusedEcgLeadsMax = 16;

export function beatPlans(groups: readonly ChannelGroup[]): BeatPlan[] {
  const breathes = !groups.some((g) => g.kind === 'resp');
  const motion = groups.find((g) => g.kind === 'acc' && g.leads.length === 3 && g.rateNanoHz >= accLowestHz * 1e9) ?? null;
  return (['ecg', 'ppg'] as const).flatMap((source) => {
    const own = groups.filter((g) => g.kind === source);
    const first = own[0]?.leads[0]?.code;
    return own.map((all): BeatPlan => {
      const primary = all.leads.some(({ code }) => code === first);
      const leads = [...all.leads.filter(({ code }) => code === first), ...all.leads.filter(({ code }) => code !== first)];
      const group = { ...all, leads: source === 'ecg' ? leads.slice(0, fusedEcgLeadsMax) : leads };
      return { group, source, primary, breathing: primary && breathes, motion: source === 'ppg' ? motion : null };
    });
  });
}

/** Are rows that were made with the channels of before still right with those of now (which begin with the same ones)? Not when a lead has
 *  joined its fused group, or an accelerometer the pulse: what is computed now would give other rows for the time before, too. */
export function keepsEarlierRows(before: readonly ChannelConfig[], now: readonly ChannelConfig[]): boolean {
  const shapes = new Set(shapesOf(now));
  return shapesOf(before).every((shape) => shapes.has(shape));
}

function shapesOf(channels: readonly ChannelConfig[]): string[] {
  const groups = channelGroups(channels);
  const shape = ({ kind, rateNanoHz, leads }: ChannelGroup): string => `${kind} ${rateNanoHz} ${leads.map((lead) => lead.code).join()}`;
  const beats = beatPlans(groups).map(
    ({ group, primary, breathing, motion }) => `${shape(group)} ${primary} ${breathing} ${motion === null ? '' : shape(motion)}`,
  );
  const alone: readonly ChannelConfig['kind'][] = ['temp', 'resp', 'eda'];
  const slow = groups
    .filter(({ kind }) => kind !== 'ecg')
    .flatMap((group) => (alone.includes(group.kind) ? group.leads.map((lead) => shape({ ...group, leads: [lead] })) : [shape(group)]));
  return [...beats, ...slow];
}

/** Groups in order of their first channel. A channel in a unit that is not known is in none: a chain that waited for it would never
 *  begin, and would keep the stream from being final. */
export function channelGroups(channels: readonly ChannelConfig[]): ChannelGroup[] {
  const groups = new Map<string, { kind: ChannelConfig['kind']; rateNanoHz: number; leads: Map<string, ChannelNo[]> }>();
  channels.forEach(({ kind, rateNanoHz, code, unit }, no) => {
    if (scaleOf(kind, unit) === null) return;
    const key = `${kind} ${rateNanoHz}`;
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { kind, rateNanoHz, leads: new Map() }));
    const lead = group.leads.get(code);
    if (lead === undefined) group.leads.set(code, [no as ChannelNo]);
    else lead.push(no as ChannelNo);
  });
  return [...groups.values()].map(({ kind, rateNanoHz, leads }) => ({
    kind,
    rateNanoHz,
    leads: [...leads].map(([code, channelNos]) => ({ code, channelNos })),
  }));
}
