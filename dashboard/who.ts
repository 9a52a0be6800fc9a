/** Names for those who did something, as far as the member who looks may know them. */
import { t } from './language.ts';
import { call } from './service.ts';
import type { Member } from './service.ts';

/** `operator:<id>` and the like, to a name. */
export type NameOf = (by: string) => string;

export async function loadNames(member: Member, isAdmin: boolean): Promise<NameOf> {
  const [members, keys] = isAdmin
    ? await Promise.all([call('GET', '/api/v1/members'), call('GET', '/api/v1/api-keys')])
    : [[member] as const, [] as const];
  const names = new Map<string, string>([
    ...members.map((item) => [`operator:${item.id}`, item.display_name || item.email] as const),
    ...keys.map((key) => [`key:${key.id}`, t('the API key “{name}”', { name: key.name })] as const),
  ]);
  return (by) => names.get(by) ?? unnamed[by.split(':')[0] ?? ''] ?? by;
}

const unnamed: Readonly<Record<string, string>> = {
  operator: t('another member'),
  key: t('an API key'),
  user: t('the person'),
  cli: t('the command line'),
};
