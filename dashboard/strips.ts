/** Which artifacts of an episode are strips, and where their pictures are. */
import { language, t } from './language.ts';
import type { EpisodeDetail } from './service.ts';

type Artifact = EpisodeDetail['artifacts'][number];
export type StripPicture = Readonly<{ artifact: Artifact; address: string; title: string }>;

/** A strip that the service draws has its picture at another address than its data; one that was sent may be the picture itself. */
export function stripsOf(artifacts: readonly Artifact[]): StripPicture[] {
  return artifacts.flatMap((artifact) => {
    const drawn = artifact.renditions.svg;
    const address = drawn === undefined ? (artifact.media_type === 'image/svg+xml' ? artifact.href : undefined) : inLanguage(drawn);
    return address === undefined ? [] : [{ artifact, address, title: titleOf(artifact.title) }];
  });
}

/** A strip that the service draws has its words in the language of the page. */
export const inLanguage = (address: string): string => (language === 'en' ? address : `${address}&lang=${language}`);

/** The service's own title of the strip of an episode's beginning is translated; one that was given is not. */
function titleOf(title: string): string {
  const [, seconds] = /^First (\d+) s$/.exec(title) ?? [];
  return seconds === undefined ? title : t('First {count} s', { count: seconds });
}
