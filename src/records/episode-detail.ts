/** One episode as the API shows it: with its artifacts and who has acknowledged it. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Db } from '../storage/database/database.ts';
import { orgOf, ownSubject, ownSubjectOf, projectOf } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import type { JsonReply } from '../http/route.ts';
import { exactly, nullable, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { listAcknowledgements } from './acknowledgements.ts';
import type { Acknowledgement } from './acknowledgements.ts';
import { episodeSeverities, episodeStatuses, findEpisode, listArtifacts } from './episodes.ts';
import type { Artifact, Episode } from './episodes.ts';
import type { Caller } from '../caller.ts';

export const IsReviewed = Type.Boolean({
  description: 'A person or a program has closed it. A closed one that is not reviewed was ended by its rule, or entered with its end.',
});

const episodeMembers = {
  id: Uuid,
  subject_id: Uuid,
  stream_id: nullable(Uuid),
  kind: Type.String(),
  title: Type.String(),
  status: oneOf(episodeStatuses),
  severity: oneOf(episodeSeverities),
  started_at: Timestamp,
  ended_at: nullable(Timestamp),
  summary: Type.Record(Type.String(), Type.Unknown()),
  created_by: Type.String({ description: 'key:<id>, operator:<id>, device:<id>, rule:<name> …' }),
  created_at: Timestamp,
  updated_at: Timestamp,
  acknowledged_at: nullable(Type.String({ format: 'date-time', description: 'null: nobody has, or not since it was opened again.' })),
  acknowledged_by: nullable(Type.String({ description: 'key:<id> or operator:<id>' })),
  acknowledged_by_name: nullable(Type.String({ description: 'Of the key or the operator, as it was then.' })),
  acknowledgement_note: nullable(Type.String()),
  is_reviewed: IsReviewed,
  artifact_count: Type.Integer(),
};
export const EpisodeSchema = exactly(episodeMembers);
const ArtifactSchema = exactly({
  id: Uuid,
  kind: Type.String({ description: 'annotation, strip, report, note, file' }),
  title: Type.String(),
  starts_at: nullable(Timestamp),
  ends_at: nullable(Timestamp),
  stream_id: nullable(Uuid),
  channel_code: nullable(Type.String()),
  media_type: Type.String(),
  content: Type.Unknown(),
  bytes: Type.Integer({ description: 'Size of its data; 0: it is all in content.' }),
  href: Type.String({ description: 'Address of its data.' }),
  renditions: exactly(
    {
      svg: Type.Optional(Type.String()),
      png: Type.Optional(Type.String()),
      csv: Type.Optional(Type.String()),
      wfdb: Type.Optional(Type.String()),
    },
    { description: 'Of a strip: addresses of its picture and of its samples, drawn from what is stored. Empty for other artifacts.' },
  ),
  created_by: Type.String(),
  created_at: Timestamp,
});
const AcknowledgementSchema = exactly({
  at: Timestamp,
  by: Type.String({ description: 'key:<id> or operator:<id>' }),
  by_name: nullable(Type.String()),
  note: Type.String(),
  ended_at: nullable(
    Type.String({ format: 'date-time', description: 'Replaced by a newer one, or the episode was opened again; null: it counts.' }),
  ),
});
export const EpisodeDetailSchema = exactly({
  ...episodeMembers,
  artifacts: Type.Array(ArtifactSchema),
  acknowledgements: Type.Array(AcknowledgementSchema, { description: 'Newest first.' }),
});

type Renditions = Readonly<Static<typeof ArtifactSchema>['renditions']>;
type ShownArtifact = Artifact & Readonly<{ href: string; renditions: Renditions }>;
export type EpisodeDetail = Episode & Readonly<{ artifacts: readonly ShownArtifact[]; acknowledgements: readonly Acknowledgement[] }>;

/** Finds an episode that the caller may see. @throws PipelineError not_found, consent_missing */
export async function ownEpisode(db: Db, caller: Caller, id: string): Promise<Episode> {
  const episode = await findEpisode(db, orgOf(caller), ownSubjectOf(caller), projectOf(caller), id);
  if (episode === null) throw new PipelineError('not_found', 'There is no such episode.');
  await ownSubject(db, caller, episode.subject_id); // consent
  return episode;
}

/** The same, with its artifacts and acknowledgements.  @throws PipelineError not_found, consent_missing */
export async function ownEpisodeDetail(db: Db, caller: Caller, id: string): Promise<EpisodeDetail> {
  const episode = await ownEpisode(db, caller, id);
  const artifacts = await listArtifacts(db, id);
  return {
    ...episode,
    artifacts: artifacts.map((artifact) => ({
      ...artifact,
      href: `/api/v1/episodes/${id}/artifacts/${artifact.id}`,
      renditions: renditionsOf(artifact),
    })),
    acknowledgements: await listAcknowledgements(db, id),
  };
}

export function tagOf({ updated_at: updatedAt }: Episode): string {
  return `"${updatedAt}"`;
}

export function tagged(episode: EpisodeDetail): JsonReply<200, EpisodeDetail> {
  return { status: 200, json: episode, headers: { etag: tagOf(episode) } };
}

const stripFormats = ['svg', 'png', 'csv', 'wfdb'] as const;

function renditionsOf({ kind, stream_id: streamId, starts_at: since, ends_at: until, channel_code: channel }: Artifact): Renditions {
  if (kind !== 'strip' || streamId === null || since === null || until === null || since === until) return {};
  const at = (format: string): string => {
    const query = new URLSearchParams({ since, until, ...(channel === null ? {} : { channel }), format });
    return `/api/v1/streams/${streamId}/strip?${query.toString()}`;
  };
  return Object.fromEntries(stripFormats.map((format) => [format, at(format)]));
}
