/** The tables as kysely sees them; sql/ is the truth. bigint columns are bigint, timestamps are Date (ms; the exact time is ts_ns). */
import type { ColumnType, Generated, JSONColumnType } from 'kysely';

type Json = JSONColumnType<Record<string, unknown>, string | undefined, string>;
type JsonArray = JSONColumnType<readonly unknown[], string | undefined, string>;
type Stamp = ColumnType<Date, Date | string, Date | string>;
type StampNull = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>;
type StampNow = ColumnType<Date, Date | string | undefined, Date | string>;
type Int8 = ColumnType<bigint, bigint | number | string, bigint | number | string>;
type Int8Null = ColumnType<bigint | null, bigint | number | string | null | undefined, bigint | number | string | null>;
type Null<T> = ColumnType<T | null, T | null | undefined, T | null>;
type Id = Generated<string>;

export type Scope = 'read' | 'write' | 'ingest' | 'admin';
export type OperatorRole = 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer';

export interface Tables {
  organization: { id: Id; name: string; settings: Json; created_at: StampNow };
  project: {
    id: Id;
    organization_id: string;
    name: string;
    project_key: string;
    time_zone: Generated<string>;
    settings: Json;
    created_at: StampNow;
    archived_at: StampNull;
    previous_project_key: Null<string>;
    previous_key_expires_at: StampNull;
  };
  api_key: {
    id: Id;
    organization_id: string;
    project_id: Null<string>;
    name: string;
    env: 'live' | 'test';
    public_id: string;
    secret_hash: Buffer;
    scopes: Scope[];
    created_at: StampNow;
    created_by: Null<string>;
    expires_at: StampNull;
    revoked_at: StampNull;
    last_used_at: StampNull;
    rotated_from: Null<string>;
  };
  sdk_key: {
    id: Id;
    project_id: string;
    sdk_key: string;
    name: Generated<string>;
    created_at: StampNow;
    revoked_at: StampNull;
    expires_at: StampNull;
    rotated_from: Null<string>;
  };
  signing_key: {
    kid: string;
    algorithm: Generated<string>;
    private_pem: string;
    public_jwk: Json;
    created_at: StampNow;
    not_before: StampNow;
    retire_at: StampNull;
    expires_at: StampNull;
  };
  allowed_origin: { id: Id; project_id: string; origin: string; created_at: StampNow };
  operator_account: {
    id: Id;
    organization_id: string;
    email: string;
    display_name: Generated<string>;
    password_hash: string;
    role: OperatorRole;
    created_at: StampNow;
    last_login_at: StampNull;
    disabled_at: StampNull;
  };
  operator_session: {
    id: Id;
    operator_id: string;
    token_hash: Buffer;
    created_at: StampNow;
    last_seen_at: StampNow;
    expires_at: Stamp;
    revoked_at: StampNull;
    ip: Null<string>;
    user_agent: Generated<string>;
  };
  xuser: {
    id: Id;
    organization_id: string;
    project_id: string;
    external_id: string;
    display_name: Generated<string>;
    time_zone: Null<string>;
    attributes: Json;
    created_at: StampNow;
    updated_at: StampNow;
    disabled_at: StampNull;
  };
  device_profile: {
    id: Id;
    organization_id: Null<string>;
    code: string;
    name: string;
    manufacturer: Generated<string>;
    model: Generated<string>;
    channels: JsonArray;
    created_at: StampNow;
  };
  device: {
    id: Id;
    organization_id: string;
    project_id: Null<string>;
    external_id: string;
    name: Generated<string>;
    profile_id: Null<string>;
    xuser_id: Null<string>;
    firmware: Generated<string>;
    created_at: StampNow;
    last_seen_at: StampNull;
  };
  biosignal: {
    id: Generated<number>;
    project_id: Null<string>;
    name: string;
    abbreviation: string;
    unit: string;
    loinc_code: Generated<string>;
    mdc_code: Generated<string>;
    signal_type: string;
    role: Generated<string>;
    source_type: string;
    feature: Null<string>;
    channel_kind: Null<string>;
    code: Null<string>;
    created_at: StampNow;
  };
  project_biosignal: { project_id: string; biosignal_id: number; hidden: Generated<boolean>; role: Null<string> };
  stream: {
    id: Generated<number>;
    uuid: Id;
    organization_id: string;
    project_id: string;
    device_id: string;
    xuser_id: string;
    boot_id: Buffer;
    epoch_ns: Int8;
    firmware: Generated<string>;
    seqs: Generated<string>;
    clock_offset_ns: Int8Null;
    clock_skew_ppm: Null<number>;
    clock_rms_ns: Null<number>;
    clock_pairs: Generated<number>;
    started_at: StampNow;
    last_packet_at: StampNull;
    last_sample_at: StampNull;
    ended_at: StampNull;
  };
  stream_channel: {
    stream_id: number;
    channel_no: number;
    code: string;
    kind: string;
    rate_nhz: Int8;
    gain: number;
    baseline: number;
    unit: string;
    lead: Generated<string>;
    created_at: StampNow;
  };
  method: {
    id: Generated<number>;
    kind: 'feature' | 'beat';
    name: string;
    code: string;
    cadence_hz: Null<number>;
    unit: Generated<string>;
    created_at: StampNow;
  };
  idempotency: {
    organization_id: string;
    idempotency_key: string;
    operation: string;
    body_hash: Buffer;
    status: Null<number>;
    response_headers: Null<unknown>;
    response_body: Null<Buffer>;
    created_at: StampNow;
  };
  audit_log: {
    id: Generated<bigint>;
    time: StampNow;
    organization_id: Null<string>;
    actor_kind: string;
    actor_id: Generated<string>;
    action: string;
    target_kind: Generated<string>;
    target_id: Generated<string>;
    detail: Json;
    ip: Null<string>;
    request_id: Generated<string>;
  };
  episode: {
    id: Id;
    organization_id: string;
    project_id: string;
    xuser_id: string;
    stream_id: Null<number>;
    kind: string;
    title: Generated<string>;
    status: Generated<'open' | 'closed' | 'cancelled'>;
    severity: Generated<'none' | 'low' | 'medium' | 'high'>;
    started_at: Stamp;
    ended_at: StampNull;
    summary: Json;
    created_by: Generated<string>;
    created_at: StampNow;
    updated_at: StampNow;
  };
  artifact: {
    id: Id;
    episode_id: string;
    kind: string;
    title: Generated<string>;
    starts_at: StampNull;
    ends_at: StampNull;
    stream_id: Null<number>;
    channel_code: Null<string>;
    media_type: Generated<string>;
    content: Json;
    data: Null<Buffer>;
    created_by: Generated<string>;
    created_at: StampNow;
  };
  sample_block: {
    time: Stamp;
    start_ns: Int8;
    stream_id: number;
    n: number;
    min: Null<number>;
    max: Null<number>;
    mean: Null<number>;
    channel_no: number;
    suspect_n: number;
    bad_n: number;
    codec: Buffer;
  };
  packet_log: { time: Stamp; batch_id: Int8; part: number; packet_count: number; data: Buffer };
  packet_log_checkpoint: { id: Generated<boolean>; batch_id: Int8; updated_at: StampNow };
  beat: {
    time: Stamp;
    ts_ns: Int8;
    stream_id: number;
    channel_no: number;
    method_id: number;
    interval_ms: Null<number>;
    kind: number;
    qmask: number;
    reason: Generated<string>;
  };
  feature: {
    time: Stamp;
    ts_ns: Int8;
    value: Null<number>;
    stream_id: number;
    method_id: number;
    channel_no: number;
    qmask: number;
  };
  measurement: {
    time: Stamp;
    ts_ns: Int8;
    id: string;
    organization_id: string;
    project_id: string;
    xuser_id: string;
    biosignal_id: number;
    value: number;
    unit: string;
    qmask: Generated<number>;
    method_code: Generated<string>;
    device_id: Null<string>;
    stream_id: Null<number>;
  };
  device_event: { time: Stamp; ts_ns: Int8; id: string; stream_id: number; code: string; content: Generated<string> };
  feature_1m: Rollup;
  feature_1h: Rollup;
  feature_1d: Rollup;
}

/** One bucket of one feature. `good_`: flag 0; `suspect_`: flag 1; no prefix: all, bad ones included. Sums are numeric: text. */
interface Rollup {
  bucket: Stamp;
  stream_id: number;
  method_id: number;
  channel_no: number;
  n: bigint;
  value_n: bigint;
  good_n: bigint;
  suspect_n: bigint;
  sum: string | null;
  good_sum: string | null;
  suspect_sum: string | null;
  min: number | null;
  good_min: number | null;
  suspect_min: number | null;
  max: number | null;
  good_max: number | null;
  suspect_max: number | null;
  first: number | null;
  good_first: number | null;
  last: number | null;
  good_last: number | null;
}
