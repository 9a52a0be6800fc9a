/** Which channels of a stream are computed together: a pure function of its configuration. */
import type { ChannelConfig, ChannelNo } from '../signal.ts';

export type GroupLead = Readonly<{ code: string; channelNos: readonly ChannelNo[] }>;

/** Channels of one kind and rate. A lead is a channel code: one that came back with another gain (a new channelNo) is the same lead. */
export type ChannelGroup = Readonly<{
  kind: ChannelConfig['kind'];
  rateNanoHz: number;
  leads: readonly GroupLead[];
}>;

/** Groups in order of their first channel. */
export function channelGroups(channels: readonly ChannelConfig[]): ChannelGroup[] {
  const groups = new Map<string, { kind: ChannelConfig['kind']; rateNanoHz: number; leads: Map<string, ChannelNo[]> }>();
  channels.forEach(({ kind, rateNanoHz, code }, no) => {
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
