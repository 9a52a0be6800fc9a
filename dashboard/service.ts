/** The dashboard's calls: the public API, with the operator's cookie. */
import { ServiceError } from '../widgets/shared/session.ts';

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: body === undefined ? { accept: 'application/json' } : { accept: 'application/json', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ServiceError(0, 'network', 'The service did not answer.');
  });
  if (response.ok) return (response.status === 204 ? null : await response.json()) as T;
  const problem = (await response.json().catch(() => ({}))) as {
    code?: string;
    detail?: string;
    title?: string;
    request_id?: string;
    errors?: { pointer: string; detail: string }[];
  };
  const fields = (problem.errors ?? []).map((error) => `${error.pointer.replace(/^\/(body|query)?\/?/, '')} ${error.detail}`).join('; ');
  throw new ServiceError(
    response.status,
    problem.code ?? 'unknown',
    fields || problem.detail || problem.title || 'It failed.',
    problem.request_id ?? '',
  );
}

export type Member = Readonly<{
  id: string;
  email: string;
  display_name: string;
  role: string;
  created_at: string;
  last_login_at: string | null;
  disabled: boolean;
}>;
export type Project = Readonly<{ id: string; name: string; project_key: string; time_zone: string; created_at: string }>;
export type ApiKey = Readonly<{
  id: string;
  name: string;
  env: string;
  hint: string;
  scopes: readonly string[];
  project_id: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}>;
export type NewApiKey = ApiKey & Readonly<{ key: string }>;
export type SdkKey = Readonly<{ id: string; sdk_key: string; name: string; created_at: string; revoked_at: string | null }>;
export type Xuser = Readonly<{
  xuser_id: string;
  external_id: string;
  project_id: string;
  display_name: string;
  created_at: string;
  disabled: boolean;
}>;
export type Stream = Readonly<{
  id: string;
  device_id: string;
  firmware: string;
  started_at: string;
  last_sample_at: string | null;
  is_flowing: boolean;
  clock: Readonly<{ skew_ppm: number | null; rms_ns: number | null }>;
  channels: readonly Readonly<{ code: string; rate_hz: number; unit: string }>[];
}>;
export type AuditEntry = Readonly<{
  id: number;
  time: string;
  actor_kind: string;
  actor_id: string;
  action: string;
  target_kind: string;
  target_id: string;
  ip: string | null;
}>;
