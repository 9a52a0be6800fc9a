import { expect, test } from 'vitest';
import type { Caller } from '../caller.ts';
import type { PipelineError } from '../errors.ts';
import { checkConsent, consentPurposes } from './consents.ts';

const key: Caller = { kind: 'key', keyId: 'k', orgId: 'o', scopes: ['read', 'write'], projectId: 'p', subjectId: 's' };
const operator: Caller = { kind: 'operator', operatorId: 'x', orgId: 'o', role: 'admin' };
const user = { kind: 'user' } as Caller;
const may = (...check: Parameters<typeof checkConsent>): boolean => {
  try {
    checkConsent(...check);
    return true;
  } catch (error) {
    expect((error as PipelineError).code).toBe('consent_missing');
    return false;
  }
};

test('without consent nobody records, and only the person reads', () => {
  for (const purpose of consentPurposes) {
    for (const caller of [key, operator, user]) {
      expect(may(caller, purpose, [])).toBe(true);
      expect(may(caller, purpose, [purpose])).toBe(purpose === 'sharing' && caller === user);
      expect(
        may(
          caller,
          purpose,
          consentPurposes.filter((other) => other !== purpose),
        ),
      ).toBe(true);
    }
  }
});
