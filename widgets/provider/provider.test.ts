/** Which credentials a provider acts with, from its attributes. */
import { expect, it } from 'vitest';
import { credentialsOf } from './provider.ts';

const of = (attributes: Readonly<Record<string, string>>, token = '') => credentialsOf((name) => attributes[name] ?? '', token, null);
const direct = { 'api-key': 'org_1', 'project-key': 'proj_1', 'xuser-id': 'patient 7' };

it('a token comes before a key in the page', () => {
  expect(of({ ...direct, 'sdk-key': 'sdk_1' }, 'jwt')).toEqual({ mode: 'token', sdkKey: 'sdk_1', token: 'jwt' });
});

it('a key acts for the person that the page names', () => {
  expect(of(direct)).toEqual({ mode: 'direct', apiKey: 'org_1', projectKey: 'proj_1', externalId: 'patient 7' });
});

it('without either there is no session', () => {
  expect(of({ 'sdk-key': 'sdk_1', 'project-key': 'proj_1' })).toBeNull();
});

it('an operator acts by cookie, whatever the page says', () => {
  const operator = { subjectId: 's', projectId: 'p' };
  expect(credentialsOf(() => 'org_1', 'jwt', operator)).toEqual({ mode: 'operator', ...operator });
});
