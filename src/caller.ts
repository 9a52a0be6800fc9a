/** Types of callers, shared by every room. */

/** Scopes of an organization key. */
export const scopes = ['read', 'write', 'ingest', 'admin'] as const;
export type Scope = (typeof scopes)[number];
export const operatorRoles = ['viewer', 'editor', 'admin'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/** Who calls, as established by src/auth. */
export type Caller =
  | Readonly<{ kind: 'anonymous' }>
  | Readonly<{ kind: 'key'; keyId: string; orgId: string; scopes: readonly Scope[]; projectId: string | null; subjectId: string | null }>
  | Readonly<{
      kind: 'user';
      orgId: string;
      projectId: string;
      subjectId: string;
      jti: string;
      /** Signing key of the token; the user's access ends when it is withdrawn. */
      kid?: string;
      expiresAtMs: number;
      /** SDK keys whose end also ends the user's access: the one that the token was minted for, and the one that the page sends. */
      sdkKeyIds?: readonly string[];
    }>
  | Readonly<{ kind: 'operator'; operatorId: string; orgId: string; role: OperatorRole }>;
