/** Which artifacts of an episode are strips, and where their pictures are. */
import type { EpisodeDetail } from './service.ts';

type Artifact = EpisodeDetail['artifacts'][number];
export type StripPicture = Readonly<{ artifact: Artifact; address: string }>;

/** A strip that the service draws has its picture at another address than its data; one that was sent may be the picture itself. */
export function stripsOf(artifacts: readonly Artifact[]): StripPicture[] {
  return artifacts.flatMap((artifact) => {
    const address = artifact.renditions.svg ?? (artifact.media_type === 'image/svg+xml' ? artifact.href : undefined);
    return address === undefined ? [] : [{ artifact, address }];
  });
}
