/** A rule of episodes, and which part of a recording it looks at. */

export type EpisodeRule = Readonly<{
  /** Kind of its episodes. */
  name: string;
  title: string;
  /** `created_by` of its episodes. Default: of the service's own rules, rule:<name>_v1. */
  by?: string;
  /** Id of the project's rule whose addresses get e-mail. */
  emailsOf?: string;
  feature: string;
  above?: number;
  below?: number;
  /** Bound that an open episode lasts beyond; never further out than the first. Default: the first. */
  endBound?: number;
  /** Worst flag of a value that counts; default 0. */
  qualityMax?: 0 | 1;
  /** With qualityMax 1: a feature that must have a share of GOOD_SHARE_MIN good values in the last minute, so that noise does not count. */
  trusted?: string;
  /** How long values are beyond the bound, in all, before there is an episode: stretches.ts. */
  sustainSec: number;
  /** How often the feature has a value, s, where that is seldom. */
  everySec?: number;
  /** No shorter than the time from one value of the feature to the next. */
  releaseSec: number;
  /** The episode begins so long before its first value: where a value speaks of the whole window before it. */
  beforeSec?: number;
  severity: 'none' | 'low' | 'medium' | 'high';
  /** Of a project's rule: when people changed it last, Unix ms. */
  changedMs?: number;
}>;

/** A stream that a rule may concern, and whose it is. */
export type Candidate = Readonly<{ id: number; uuid: string; organization_id: string; project_id: string; xuser_id: string }>;

/** Range examined in each round, s: longer than any of the service's own rules' sustain and release, plus a minute for late packets. */
const LOOK_BACK_SEC = 900;
/** What a rule with longer times needs beyond them, s. */
const LATE_SEC = 300;

/** In which a stretch lasts for `sustainSec`, interruptions included, as a multiple of it (stretches.ts). */
const LASTING = 1.25;

/** Range that a round examines for a rule before what the round before has seen, s. Values that arrive later than this after newer ones are
 *  not looked at. */
export const lookBackSec = ({ sustainSec, releaseSec }: Pick<EpisodeRule, 'sustainSec' | 'releaseSec'>): number =>
  Math.max(LOOK_BACK_SEC, Math.ceil(LASTING * sustainSec) + releaseSec + LATE_SEC);

/** SQL: time from one value of a method to the next, s.  @param method alias of the table */
export const everySec = (method: string): string => `round(1 / nullif(${method}.cadence_hz, 0))::integer`;

/** SQL: the same of a row r of episode_rule.  @param every time from one value of its feature to the next, s */
export const lookBackSql = (every: string): string =>
  `greatest(${LOOK_BACK_SEC}, ceil(${LASTING} * r.sustain_sec) + greatest(r.release_sec, ${every}) + ${LATE_SEC})`;

/** Values that are older when they come are of an import: nothing of it goes on now, s. Nor is there e-mail about it. */
export const NEWS_SEC = 24 * 3600;

/** Delivery and computation of a value that is not late, s. */
const ON_ITS_WAY_SEC = 60;

/** How long nothing has come of a recording, s of the service's clock, or of the rule's feature while the recording went on, s of the
 *  recording, when it is silent for a rule. Its values cannot say so: they end. */
export const silenceSec = ({ releaseSec }: Pick<EpisodeRule, 'releaseSec'>): number => releaseSec + ON_ITS_WAY_SEC;

/** SQL: newest time that a stream s has reached: of any of its features, because samples may be far ahead of their values in an import;
 *  of its samples, too, when they arrive as they are measured: some channels have no feature. */
export const REACHED_SQL = `greatest(newest_value(s.id, null), case when s.last_packet_at - s.last_sample_at < interval '${ON_ITS_WAY_SEC} s' then s.last_sample_at end)`;

/** SQL, before newest_value is asked of many recordings: planned anew at each call, planning is nine tenths of its time. */
export const ONE_PLAN = 'set local plan_cache_mode = force_generic_plan';

/** The creator of a rule's episodes, as it is in them. */
export const creatorOf = ({ name, by }: EpisodeRule): string => by ?? `rule:${name}_v1`;
