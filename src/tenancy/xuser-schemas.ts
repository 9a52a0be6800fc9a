/** Schemas by which requests name a person: the calling application's own id, within a project. */
import { Type } from 'typebox';

export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: "The calling application's own id of the user, at most 255 characters; compared exactly as it is.",
});
export const ProjectKey = Type.String({ minLength: 1, maxLength: 64, description: 'The public key of the project, proj_…' });
