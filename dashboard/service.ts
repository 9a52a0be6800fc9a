/** The dashboard's calls: the public API, with the operator's cookie. */
import { ServiceError } from '../widgets/shared/session.ts';

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await ask(method, path, body);
  return (response.status === 204 ? null : await response.json()) as T;
}

/** A page of a list. @returns `next`: the address of the following page, null after the last one */
export async function callList<T>(path: string): Promise<{ items: T[]; next: string | null }> {
  const response = await ask('GET', path);
  return { items: (await response.json()) as T[], next: /<([^>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '')?.[1] ?? null };
}

async function ask(method: string, path: string, body?: unknown): Promise<Response> {
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: body === undefined ? { accept: 'application/json' } : { accept: 'application/json', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ServiceError(0, 'network', 'The service did not answer.');
  });
  if (response.ok) return response;
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
  detail: Readonly<Record<string, unknown>> | null;
  ip: string | null;
}>;
export type Device = Readonly<{
  id: string;
  device_id: string;
  name: string;
  firmware: string;
  xuser_id: string | null;
  external_id: string | null;
  is_flowing: boolean;
  last_packet_at: string | null;
  last_sample_at: string | null;
  lag_ms: number | null;
  packets: number;
  lost_packets: number;
  battery_percent: number | null;
  clock: Readonly<{ skew_ppm: number | null; rms_ms: number | null; pairs: number }>;
}>;
export type QualityOfUser = Readonly<{
  xuser_id: string;
  external_id: string;
  feature: string;
  hours: readonly Readonly<{ start: string; expected: number; n: number; good: number; suspect: number }>[];
}>;
export type EpisodeLine = Readonly<{
  id: string;
  xuser_id: string;
  external_id: string;
  kind: string;
  title: string;
  status: 'open' | 'closed' | 'cancelled';
  severity: 'none' | 'low' | 'medium' | 'high';
  started_at: string;
  ended_at: string | null;
  artifact_count: number;
}>;
export type EpisodeDetail = Omit<EpisodeLine, 'xuser_id' | 'external_id'> &
  Readonly<{
    subject_id: string;
    summary: Readonly<Record<string, unknown>>;
    created_by: string;
    artifacts: readonly Readonly<{
      id: string;
      kind: string;
      title: string;
      starts_at: string | null;
      ends_at: string | null;
      channel_code: string | null;
      media_type: string;
      content: unknown;
      bytes: number;
      href: string;
      created_at: string;
    }>[];
  }>;
export type Webhook = Readonly<{
  id: string;
  project_id: string | null;
  url: string;
  events: readonly string[];
  description: string;
  created_at: string;
}>;
export type Delivery = Readonly<{
  id: string;
  event: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  next_attempt_at: string;
  last_status: number | null;
  last_error: string | null;
  created_at: string;
  delivered_at: string | null;
}>;
export type Biosignal = Readonly<{
  id: number;
  name: string;
  abbreviation: string;
  unit: string;
  loinc_code: string;
  signal_type: string;
  role: string;
  source_type: string;
  is_flowing: boolean;
}>;
export type DeviceProfile = Readonly<{
  id: string;
  code: string;
  name: string;
  manufacturer: string;
  model: string;
  channels: readonly Readonly<{ code: string; kind: string; rate_hz: number; unit: string; lead: string }>[];
  built_in: boolean;
}>;
export type ProjectSettings = Readonly<{
  retention: Readonly<{ samples_days: number | null; features_days: number | null; beats_days: number | null }>;
  consent_required: readonly ('recording' | 'sharing')[];
}>;
export type QuestionnaireItem = Readonly<{
  linkId: string;
  text?: string;
  type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group';
  required?: boolean;
  enableWhen?: readonly unknown[];
  answerOption?: readonly Readonly<{
    valueCoding: Readonly<{ code: string; display?: string }>;
    extension?: readonly Readonly<{ url: string; valueDecimal?: number; valueInteger?: number }>[];
  }>[];
  extension?: readonly Readonly<{ url: string; valueDecimal?: number; valueInteger?: number }>[];
  item?: readonly QuestionnaireItem[];
}>;
export type ScoreRule = Readonly<{
  name: string;
  expression: string;
  code?: string;
  bands?: readonly Readonly<{ from: number; text: string }>[];
}>;
export type Scoring = { scores: ScoreRule[]; safety: { title: string; expression: string }[] };
export type QuestionnaireVersion = Readonly<{
  id: string;
  version: string;
  status: 'active' | 'retired';
  built_in: boolean;
  created_at: string | null;
  resource: Readonly<{ title: string; description?: string; item: readonly QuestionnaireItem[] }>;
  scoring: Scoring;
}>;
