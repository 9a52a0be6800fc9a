/** Written by `npm run api-types` from the route table; `npm run check` fails when it is not up to date. Types only. */
export type Operations = {
  /** Mint a token for one user */
  createUserToken: {
    method: 'POST';
    path: '/api/v1/sdk/token';
    params: {};
    query: {};
    body: { external_id: string; project_key: string };
    answer: { xuser_token: string; xuser_id: string; expires_in: number };
  };
  /** List organization keys */
  listApiKeys: {
    method: 'GET';
    path: '/api/v1/api-keys';
    params: {};
    query: {};
    body: undefined;
    answer: readonly { id: string; name: string; env: 'live' | 'test'; hint: string; scopes: readonly ('read' | 'write' | 'ingest' | 'admin')[]; project_id: string | null; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null }[];
  };
  /** Create an organization key */
  createApiKey: {
    method: 'POST';
    path: '/api/v1/api-keys';
    params: {};
    query: {};
    body: { name: string; scopes: readonly ('read' | 'write' | 'ingest' | 'admin')[]; env?: 'live' | 'test'; project_id?: string | null; expires_at?: string | null };
    answer: { id: string; name: string; env: 'live' | 'test'; hint: string; scopes: readonly ('read' | 'write' | 'ingest' | 'admin')[]; project_id: string | null; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null; key: string };
  };
  /** Replace a key; the old one works for an overlap */
  rotateApiKey: {
    method: 'POST';
    path: '/api/v1/api-keys/{keyId}/rotate';
    params: { keyId: string };
    query: {};
    body: { overlap_sec?: number };
    answer: { id: string; name: string; env: 'live' | 'test'; hint: string; scopes: readonly ('read' | 'write' | 'ingest' | 'admin')[]; project_id: string | null; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null; key: string };
  };
  /** Revoke a key; every node refuses it within a second */
  revokeApiKey: {
    method: 'DELETE';
    path: '/api/v1/api-keys/{keyId}';
    params: { keyId: string };
    query: {};
    body: undefined;
    answer: { id: string; name: string; env: 'live' | 'test'; hint: string; scopes: readonly ('read' | 'write' | 'ingest' | 'admin')[]; project_id: string | null; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null };
  };
  /** List the public SDK keys of a project */
  listSdkKeys: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/sdk-keys';
    params: { projectId: string };
    query: {};
    body: undefined;
    answer: readonly { id: string; sdk_key: string; name: string; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null }[];
  };
  /** Create a public SDK key */
  createSdkKey: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/sdk-keys';
    params: { projectId: string };
    query: {};
    body: { name?: string };
    answer: { id: string; sdk_key: string; name: string; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null };
  };
  /** Replace an SDK key; the old one works for an overlap */
  rotateSdkKey: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}/rotate';
    params: { projectId: string; sdkKeyId: string };
    query: {};
    body: { overlap_sec?: number };
    answer: { id: string; sdk_key: string; name: string; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null };
  };
  /** Revoke an SDK key; every node refuses requests that carry it within a second */
  revokeSdkKey: {
    method: 'DELETE';
    path: '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}';
    params: { projectId: string; sdkKeyId: string };
    query: {};
    body: undefined;
    answer: { id: string; sdk_key: string; name: string; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null; rotated_from: string | null };
  };
  /** Replace the key of a project; the old one works for an overlap */
  rotateProjectKey: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/rotate-key';
    params: { projectId: string };
    query: {};
    body: { overlap_sec?: number };
    answer: { id: string; name: string; project_key: string; time_zone: string; created_at: string; previous_project_key: string | null; previous_key_expires_at: string | null; key_last_used_at: string | null; previous_key_last_used_at: string | null };
  };
  /** Revoke the project key before the present one; every node refuses it within a second */
  revokePreviousProjectKey: {
    method: 'DELETE';
    path: '/api/v1/projects/{projectId}/previous-key';
    params: { projectId: string };
    query: {};
    body: undefined;
    answer: { id: string; name: string; project_key: string; time_zone: string; created_at: string; previous_project_key: string | null; previous_key_expires_at: string | null; key_last_used_at: string | null; previous_key_last_used_at: string | null };
  };
  /** Sign in to the dashboard */
  signIn: {
    method: 'POST';
    path: '/auth/session';
    params: {};
    query: {};
    body: { email: string; password: string };
    answer: { id: string; email: string; display_name: string; role: 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer'; created_at: string; last_login_at: string | null; disabled: boolean; etag: string; can_email: boolean };
  };
  /** Sign out */
  signOut: {
    method: 'DELETE';
    path: '/auth/session';
    params: {};
    query: {};
    body: undefined;
    answer: null;
  };
  /** Who is signed in? */
  getSession: {
    method: 'GET';
    path: '/auth/session';
    params: {};
    query: {};
    body: undefined;
    answer: { id: string; email: string; display_name: string; role: 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer'; created_at: string; last_login_at: string | null; disabled: boolean; etag: string; can_email: boolean };
  };
  /** Resolve or create the user of an external id */
  resolveUser: {
    method: 'POST';
    path: '/api/v1/xusers';
    params: {};
    query: {};
    body: { xuser_id?: string; external_id?: string; project_key?: string; display_name?: string; time_zone?: string };
    answer: { xuser_id: string; external_id: string; project_id: string; display_name: string; time_zone: string | null; created_at: string; updated_at: string; disabled: boolean };
  };
  /** List users */
  listUsers: {
    method: 'GET';
    path: '/api/v1/xusers';
    params: {};
    query: { project_id?: string | undefined; group_id?: string | undefined; external_id?: string | undefined; search?: string | undefined; sort?: 'newest' | 'external_id' | 'name' | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { xuser_id: string; external_id: string; project_id: string; display_name: string; time_zone: string | null; created_at: string; updated_at: string; disabled: boolean; is_flowing: boolean }[];
  };
  /** Read one user */
  getUser: {
    method: 'GET';
    path: '/api/v1/xusers/{xuserId}';
    params: { xuserId: string };
    query: {};
    body: undefined;
    answer: { xuser_id: string; external_id: string; project_id: string; display_name: string; time_zone: string | null; created_at: string; updated_at: string; disabled: boolean };
  };
  /** Change or disable a user */
  updateUser: {
    method: 'PATCH';
    path: '/api/v1/xusers/{xuserId}';
    params: { xuserId: string };
    query: {};
    body: { display_name?: string; time_zone?: string | null; disabled?: boolean };
    answer: { xuser_id: string; external_id: string; project_id: string; display_name: string; time_zone: string | null; created_at: string; updated_at: string; disabled: boolean };
  };
  /** List the groups of a project */
  listGroups: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/groups';
    params: { projectId: string };
    query: { subject_id?: string | undefined };
    body: undefined;
    answer: readonly { id: string; project_id: string; name: string; member_count: number; created_at: string }[];
  };
  /** Make a group */
  createGroup: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/groups';
    params: { projectId: string };
    query: {};
    body: { name: string };
    answer: { id: string; project_id: string; name: string; member_count: number; created_at: string };
  };
  /** Rename a group */
  updateGroup: {
    method: 'PATCH';
    path: '/api/v1/projects/{projectId}/groups/{groupId}';
    params: { projectId: string; groupId: string };
    query: {};
    body: { name?: string };
    answer: { id: string; project_id: string; name: string; member_count: number; created_at: string };
  };
  /** Delete a group */
  deleteGroup: {
    method: 'DELETE';
    path: '/api/v1/projects/{projectId}/groups/{groupId}';
    params: { projectId: string; groupId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** Put a person into a group */
  addGroupMember: {
    method: 'PUT';
    path: '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}';
    params: { projectId: string; groupId: string; xuserId: string };
    query: {};
    body: {};
    answer: { id: string; project_id: string; name: string; member_count: number; created_at: string };
  };
  /** Take a person out of a group */
  removeGroupMember: {
    method: 'DELETE';
    path: '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}';
    params: { projectId: string; groupId: string; xuserId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** Read what a person has consented to */
  listConsents: {
    method: 'GET';
    path: '/api/v1/xusers/{xuserId}/consents';
    params: { xuserId: string };
    query: {};
    body: undefined;
    answer: { missing: readonly ('recording' | 'sharing')[]; records: readonly { purpose: 'recording' | 'sharing'; granted: boolean; document: string; recorded_by: string; created_at: string }[] };
  };
  /** Record that a person has consented, or has withdrawn */
  recordConsent: {
    method: 'POST';
    path: '/api/v1/xusers/{xuserId}/consents';
    params: { xuserId: string };
    query: {};
    body: { purpose: 'recording' | 'sharing'; granted: boolean; document?: string };
    answer: { missing: readonly ('recording' | 'sharing')[]; records: readonly { purpose: 'recording' | 'sharing'; granted: boolean; document: string; recorded_by: string; created_at: string }[] };
  };
  /** List projects */
  listProjects: {
    method: 'GET';
    path: '/api/v1/projects';
    params: {};
    query: {};
    body: undefined;
    answer: readonly { id: string; name: string; project_key: string; time_zone: string; created_at: string; previous_project_key: string | null; previous_key_expires_at: string | null; key_last_used_at: string | null; previous_key_last_used_at: string | null }[];
  };
  /** Create a project with its public keys */
  createProject: {
    method: 'POST';
    path: '/api/v1/projects';
    params: {};
    query: {};
    body: { name: string };
    answer: { id: string; name: string; project_key: string; time_zone: string; created_at: string; previous_project_key: string | null; previous_key_expires_at: string | null; key_last_used_at: string | null; previous_key_last_used_at: string | null };
  };
  /** Origins from which direct mode is accepted */
  getOrigins: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/origins';
    params: { projectId: string };
    query: {};
    body: undefined;
    answer: { origins: readonly string[] };
  };
  /** Replace the origins from which direct mode is accepted */
  setOrigins: {
    method: 'PUT';
    path: '/api/v1/projects/{projectId}/origins';
    params: { projectId: string };
    query: {};
    body: { origins: readonly string[] };
    answer: { origins: readonly string[] };
  };
  /** Read the retention and consent rules of a project */
  getProjectSettings: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/settings';
    params: { projectId: string };
    query: {};
    body: undefined;
    answer: { retention: { samples_days: number | null; features_days: number | null; beats_days: number | null }; consent_required: readonly ('recording' | 'sharing')[] };
  };
  /** Replace the retention and consent rules of a project */
  setProjectSettings: {
    method: 'PUT';
    path: '/api/v1/projects/{projectId}/settings';
    params: { projectId: string };
    query: {};
    body: { retention: { samples_days: number | null; features_days: number | null; beats_days: number | null }; consent_required: readonly ('recording' | 'sharing')[] };
    answer: { retention: { samples_days: number | null; features_days: number | null; beats_days: number | null }; consent_required: readonly ('recording' | 'sharing')[] };
  };
  /** List the members of the organization */
  listMembers: {
    method: 'GET';
    path: '/api/v1/members';
    params: {};
    query: {};
    body: undefined;
    answer: readonly { id: string; email: string; display_name: string; role: 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer'; created_at: string; last_login_at: string | null; disabled: boolean; etag: string }[];
  };
  /** Add a member */
  createMember: {
    method: 'POST';
    path: '/api/v1/members';
    params: {};
    query: {};
    body: { email: string; display_name?: string; role: 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer'; password: string };
    answer: { id: string; email: string; display_name: string; role: 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer'; created_at: string; last_login_at: string | null; disabled: boolean; etag: string };
  };
  /** Change the role of a member, or disable the account */
  updateMember: {
    method: 'PATCH';
    path: '/api/v1/members/{memberId}';
    params: { memberId: string };
    query: {};
    body: { role?: 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer'; disabled?: boolean };
    answer: { id: string; email: string; display_name: string; role: 'owner' | 'admin' | 'clinician' | 'analyst' | 'viewer'; created_at: string; last_login_at: string | null; disabled: boolean; etag: string };
  };
  /** Verify the hash chain of the audit log */
  verifyAuditLog: {
    method: 'GET';
    path: '/api/v1/audit-log/chain';
    params: {};
    query: {};
    body: undefined;
    answer: { entries: number; head: string | null; broken_at: number | null };
  };
  /** Read the audit log */
  listAuditLog: {
    method: 'GET';
    path: '/api/v1/audit-log';
    params: {};
    query: { subject_id?: string | undefined; actor_id?: string | undefined; action?: string | undefined; kind?: 'acts' | 'reads' | undefined; since?: string | undefined; until?: string | undefined; sort?: 'newest' | 'oldest' | undefined; limit?: number | undefined; cursor?: string | undefined; format?: 'json' | 'csv' | undefined };
    body: undefined;
    answer: readonly { id: number; time: string; actor_kind: string; actor_id: string; action: string; target_kind: string; target_id: string; subject_id: string | null; project_id: string | null; detail: Readonly<Record<string, unknown>>; ip: string | null; request_id: string; chain_seq: number | null; hash: string | null }[];
  };
  /** Configuration with device profiles and limits */
  getBootstrap: {
    method: 'GET';
    path: '/api/v1/bootstrap';
    params: {};
    query: {};
    body: undefined;
    answer: { version: string; project: { id: string; name: string; project_key: string; time_zone: string } | null; user: { xuser_id: string; external_id: string; display_name: string; time_zone: string } | null; device_profiles: readonly ({ id: string; code: string; name: string; manufacturer: string; model: string; channels: readonly { code: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; rate_hz: number; unit: string; lead: string }[]; spo2_calibration: { offset: number; slope: number } | null; built_in: boolean })[]; live: { path: string; protocol: string; frame_ms: number; deadline_ms: number }; limits: Readonly<Record<string, number>> };
  };
  /** List device profiles */
  listDeviceProfiles: {
    method: 'GET';
    path: '/api/v1/device-profiles';
    params: {};
    query: {};
    body: undefined;
    answer: readonly ({ id: string; code: string; name: string; manufacturer: string; model: string; channels: readonly { code: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; rate_hz: number; unit: string; lead: string }[]; spo2_calibration: { offset: number; slope: number } | null; built_in: boolean })[];
  };
  /** Add a device profile of the organization */
  createDeviceProfile: {
    method: 'POST';
    path: '/api/v1/device-profiles';
    params: {};
    query: {};
    body: { code: string; name: string; manufacturer: string; model: string; channels: readonly { code: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; rate_hz: number; unit: string; lead: string }[]; spo2_calibration?: { offset: number; slope: number } | null };
    answer: { id: string; code: string; name: string; manufacturer: string; model: string; channels: readonly { code: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; rate_hz: number; unit: string; lead: string }[]; spo2_calibration: { offset: number; slope: number } | null; built_in: boolean };
  };
  /** Say which profile a device has */
  setDeviceProfile: {
    method: 'PUT';
    path: '/api/v1/devices/{deviceId}/profile';
    params: { deviceId: string };
    query: {};
    body: { profile_id: string | null };
    answer: { id: string; device_id: string; profile_id: string | null };
  };
  /** List every biosignal configured for a project */
  listBiosignals: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/biosignals';
    params: { projectId: string };
    query: {};
    body: undefined;
    answer: readonly { id: number; name: string; abbreviation: string; unit: string; loinc_code: string; signal_type: 'waveform' | 'interval' | 'scalar' | 'event' | 'category' | 'score'; role: 'measurement' | 'calculation' | 'setting' | 'unspecified'; source_type: 'device' | 'derived' | 'self_report' | 'clinician' | 'import'; is_flowing: boolean }[];
  };
  /** Add a biosignal of the project */
  createBiosignal: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/biosignals';
    params: { projectId: string };
    query: {};
    body: { name: string; abbreviation: string; unit: string; loinc_code?: string; signal_type: 'waveform' | 'interval' | 'scalar' | 'event' | 'category' | 'score'; role?: 'measurement' | 'calculation' | 'setting' | 'unspecified'; source_type: 'device' | 'derived' | 'self_report' | 'clinician' | 'import'; code: string };
    answer: { id: number; name: string; abbreviation: string; unit: string; loinc_code: string; signal_type: 'waveform' | 'interval' | 'scalar' | 'event' | 'category' | 'score'; role: 'measurement' | 'calculation' | 'setting' | 'unspecified'; source_type: 'device' | 'derived' | 'self_report' | 'clinician' | 'import'; is_flowing: boolean };
  };
  /** List the versioned methods of derived values, with paper, parameters and limits */
  listMethods: {
    method: 'GET';
    path: '/api/v1/methods';
    params: {};
    query: {};
    body: undefined;
    answer: readonly { code: string; kind: 'feature' | 'beat'; name: string; abbreviation: string; version: number; current: boolean; is_stored: boolean; title: string; source: string; unit: string; step: number | null; cadence_hz: number | null; window_sec: number | null; coverage_min: number | null; scope: 'stream' | 'channel' | null; paper: string; parameters: readonly { name: string; value: number; unit: string; meaning: string }[]; limits: readonly string[]; notes: string }[];
  };
  /** List the recordings of a user */
  listStreams: {
    method: 'GET';
    path: '/api/v1/streams';
    params: {};
    query: { subject_id?: string | undefined; since?: string | undefined; until?: string | undefined; device_id?: string | undefined; sort?: 'newest' | 'oldest' | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { id: string; subject_id: string; device_id: string; boot_id: string; firmware: string; epoch_ns: number; recorded_from: string | null; time_source: 'stated' | 'device' | 'age' | 'arrival' | null; started_at: string; last_sample_at: string | null; ended_at: string | null; is_flowing: boolean; clock: { offset_ns: number | null; skew_ppm: number | null; rms_ns: number | null; pairs: number }; channels: readonly { code: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; rate_hz: number; gain: number; baseline: number; unit: string; lead: string }[] }[];
  };
  /** Read one recording */
  getStream: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}';
    params: { streamId: string };
    query: {};
    body: undefined;
    answer: { id: string; subject_id: string; device_id: string; boot_id: string; firmware: string; epoch_ns: number; recorded_from: string | null; time_source: 'stated' | 'device' | 'age' | 'arrival' | null; started_at: string; last_sample_at: string | null; ended_at: string | null; is_flowing: boolean; clock: { offset_ns: number | null; skew_ppm: number | null; rms_ns: number | null; pairs: number }; channels: readonly { code: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; rate_hz: number; gain: number; baseline: number; unit: string; lead: string }[] };
  };
  /** Read the derived features of a stream */
  getFeatures: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/features';
    params: { streamId: string };
    query: { since?: string | undefined; until?: string | undefined; method_code?: string | undefined; cursor?: string | undefined; names?: readonly string[] | undefined; cadence?: number | undefined; quality_max?: number | undefined; ts_unit?: 'ns' | 'ms' | undefined; limit?: number | undefined };
    body: undefined;
    answer: readonly { name: string; ts_ns?: readonly number[]; ts_ms?: readonly number[]; values: readonly number[]; cadence_hz: number; qmask: readonly number[]; unit: string; method_code: string }[];
  };
  /** Read the beats of a stream */
  getBeats: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/beats';
    params: { streamId: string };
    query: { since?: string | undefined; until?: string | undefined; method_code?: string | undefined; cursor?: string | undefined; channel?: string | undefined; ts_unit?: 'ns' | 'ms' | undefined; limit?: number | undefined };
    body: undefined;
    answer: readonly { method_code: string; channel: string; ts_ns?: readonly number[]; ts_ms?: readonly number[]; interval_ms: readonly (number | null)[]; kind: readonly ('normal' | 'ectopic' | 'artefact' | 'interpolated')[]; accepted: readonly boolean[]; aami: readonly ('N' | 'S' | 'V' | 'Q' | null)[]; confidence: readonly (number | null)[]; qmask: readonly number[] }[];
  };
  /** Compare beats as computed with beats as corrected */
  getCorrections: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/corrections';
    params: { streamId: string };
    query: { since: string; until: string; channel?: string | undefined; method_code?: string | undefined };
    body: undefined;
    answer: readonly { method_code: string; channel: string; computed: { beat_count: number; other_count: number; nn_count: number; mean_hr: number | null; sdnn_ms: number | null; rmssd_ms: number | null; pnn50_percent: number | null }; corrected: { beat_count: number; other_count: number; nn_count: number; mean_hr: number | null; sdnn_ms: number | null; rmssd_ms: number | null; pnn50_percent: number | null }; corrections: readonly { annotation_id: string; at: string; beat: string; found_at: string | null; found_kind: 'normal' | 'ectopic' | 'artefact' | 'interpolated' | null }[] }[];
  };
  /** Read intervals, variability and spectrum of a window */
  getVariability: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/variability';
    params: { streamId: string };
    query: { since: string; until: string; channel?: string | undefined; method_code?: string | undefined; snap?: boolean | undefined; corrected?: boolean | undefined };
    body: undefined;
    answer: { since: string; until: string; corrected: boolean; series: readonly ({ method_code: string; method_codes: readonly string[]; channel: string; signal: 'ecg' | 'ppg'; coverage: number; nn_coverage: number; beat_count: number; interval_count: number; nn_count: number; pair_count: number; corrected_count: number; af_share: number | null; is_af_likely: boolean; values: readonly { name: string; title: string; value: number | null; unit: string; qmask: number | null; method_code: string | null }[]; spectrum: { step_hz: number; density_ms2_hz: readonly number[]; bands: readonly { name: 'vlf' | 'lf' | 'hf'; from_hz: number; to_hz: number; peak_hz: number | null }[]; segment_count: number; segment_sec: number } | null; beats: { at_ms: readonly number[]; interval_ms: readonly (number | null)[]; use: readonly ('nn' | 'ectopic' | 'rejected' | 'missed' | 'none' | 'unseen')[]; is_pair: readonly boolean[]; qmask: readonly number[]; said: readonly (string | null)[] } })[] };
  };
  /** Measure P, QRS and T of each beat */
  getWaves: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/waves';
    params: { streamId: string };
    query: { since: string; until: string; channel?: string | undefined; method_code?: string | undefined; ts_unit?: 'ns' | 'ms' | undefined };
    body: undefined;
    answer: readonly { method_code: string; channel: string; ts_ns?: readonly number[]; ts_ms?: readonly number[]; interval_ms: readonly (number | null)[]; kind: readonly ('normal' | 'ectopic' | 'artefact' | 'interpolated')[]; p_onset_ns?: readonly (number | null)[]; p_onset_ms?: readonly (number | null)[]; p_peak_ns?: readonly (number | null)[]; p_peak_ms?: readonly (number | null)[]; p_end_ns?: readonly (number | null)[]; p_end_ms?: readonly (number | null)[]; qrs_onset_ns?: readonly (number | null)[]; qrs_onset_ms?: readonly (number | null)[]; qrs_end_ns?: readonly (number | null)[]; qrs_end_ms?: readonly (number | null)[]; t_onset_ns?: readonly (number | null)[]; t_onset_ms?: readonly (number | null)[]; t_peak_ns?: readonly (number | null)[]; t_peak_ms?: readonly (number | null)[]; t_end_ns?: readonly (number | null)[]; t_end_ms?: readonly (number | null)[]; pr_ms: readonly (number | null)[]; qrs_ms: readonly (number | null)[]; qt_ms: readonly (number | null)[]; qtc_bazett_ms: readonly (number | null)[]; qtc_fridericia_ms: readonly (number | null)[]; qtc_framingham_ms: readonly (number | null)[]; qtc_hodges_ms: readonly (number | null)[]; use: readonly ('used' | 'suspect' | 'bad' | 'gap' | 'kind' | 'unmeasured' | 'unseen')[]; qmask: readonly number[] }[];
  };
  /** List what the device, or an imported file, says of moments */
  listEvents: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/events';
    params: { streamId: string };
    query: { since?: string | undefined; until?: string | undefined; code?: string | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { id: string; at: string; code: string; text: string }[];
  };
  /** Read samples of a stream */
  getSamples: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/samples';
    params: { streamId: string };
    query: { since: string; until: string; channels?: readonly string[] | undefined; raw?: boolean | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { channel: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; unit: string; lead: string; rate_hz: number; t0_ns: number; gain: number; baseline: number; samples: readonly (number | null)[]; qmask: readonly number[] | null }[];
  };
  /** Read the minimum and maximum of waveforms by bucket */
  getOverview: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/overview';
    params: { streamId: string };
    query: { since: string; until: string; channels?: readonly string[] | undefined; buckets?: number | undefined; resolution?: '1ms' | '2ms' | '5ms' | '10ms' | '20ms' | '50ms' | '100ms' | '200ms' | '500ms' | '1s' | '2s' | '4s' | '8s' | '16s' | '32s' | '1m' | '2m' | '5m' | '10m' | '15m' | '30m' | '1h' | undefined };
    body: undefined;
    answer: readonly { channel: string; kind: 'ecg' | 'ppg' | 'eda' | 'temp' | 'resp' | 'acc' | 'gyro' | 'other'; unit: string; lead: string; rate_hz: number; t0_ns: number; step_ms: number; min: readonly (number | null)[]; max: readonly (number | null)[]; n: readonly number[]; suspect_n: readonly number[]; bad_n: readonly number[] }[];
  };
  /** Draw a strip, or take it along */
  getStrip: {
    method: 'GET';
    path: '/api/v1/streams/{streamId}/strip';
    params: { streamId: string };
    query: { since: string; until: string; channel?: string | undefined; format?: 'svg' | 'png' | 'csv' | 'wfdb' | undefined; lang?: 'en' | 'de' | 'fr' | 'es' | undefined };
    body: undefined;
    answer: unknown;
  };
  /** List observations of one biosignal of a user */
  listObservations: {
    method: 'GET';
    path: '/api/v1/observations';
    params: {};
    query: { biosignal_id: number; subject_id?: string | undefined; since?: string | undefined; until?: string | undefined; device_id?: string | undefined; method_code?: string | undefined; interval?: 'PT1M' | 'PT1H' | 'P1D' | undefined; tz?: string | undefined; quality_max?: number | undefined; order?: 'asc' | 'desc' | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { id: string; biosignal_id: number; loinc_code: string; value: number; unit: string; effective_time: string; device_id: string; method_code: string; qmask: number; n: number | null; good_n: number | null; expected_n: number | null; min: number | null; max: number | null }[];
  };
  /** Store measurements that did not come in packets */
  createMeasurements: {
    method: 'POST';
    path: '/api/v1/measurements';
    params: {};
    query: {};
    body: { subject_id: string; measurements: readonly { biosignal_id: number; value: number; unit?: string; time: string; quality?: number; method_code?: string }[] };
    answer: { created: number; duplicates: number; corrected: number; subject_id: string; implausible: readonly number[]; converted: readonly { index: number; given_value: number; given_unit: string; value: number; unit: string }[] };
  };
  /** Read the variability of a user's day */
  getDayVariability: {
    method: 'GET';
    path: '/api/v1/day-variability';
    params: {};
    query: { subject_id?: string | undefined; date: string; tz?: string | undefined };
    body: undefined;
    answer: readonly { device_id: string; date: string; from: string; until: string; window_count: number; coverage: number; sdnn_ms: number | null; sdann_ms: number | null; sdnn_index_ms: number | null; night_hr: number | null; day_hr: number | null; dip_percent: number | null; resting_hr: number | null }[];
  };
  /** Read several series as columns of a chart */
  queryChart: {
    method: 'POST';
    path: '/api/v1/charts/query';
    params: {};
    query: {};
    body: { subject_id?: string; series: readonly { biosignal_id?: number; feature?: string; agg?: 'mean' | 'min' | 'max' | 'sum' | 'count' | 'first' | 'last'; method_code?: string; channel?: string }[]; range: { from: string; to: string } | { duration: string }; resolution?: '1ms' | '2ms' | '5ms' | '10ms' | '20ms' | '50ms' | '100ms' | '200ms' | '500ms' | '1s' | '2s' | '5s' | '10s' | '15s' | '30s' | '1m' | '2m' | '5m' | '10m' | '15m' | '30m' | '1h' | '2h' | '3h' | '6h' | '12h' | '1d' | '1w' | '1mo'; max_points?: number; tz?: string; quality_max?: number; fill?: 'none' | 'null' | 'previous'; detail?: boolean };
    answer: { range: { from: string; to: string }; resolution: '1ms' | '2ms' | '5ms' | '10ms' | '20ms' | '50ms' | '100ms' | '200ms' | '500ms' | '1s' | '2s' | '5s' | '10s' | '15s' | '30s' | '1m' | '2m' | '5m' | '10m' | '15m' | '30m' | '1h' | '2h' | '3h' | '6h' | '12h' | '1d' | '1w' | '1mo'; values: readonly { name: string; unit: string; biosignal_id: number | null; feature: string | null; agg: 'mean' | 'min' | 'max' | 'sum' | 'count' | 'first' | 'last'; method_codes: readonly string[] }[]; data: readonly (readonly (number | null)[])[]; qmask: readonly (readonly (number | null)[])[]; detail?: { n: readonly (readonly (number | null)[])[]; good_n: readonly (readonly (number | null)[])[]; expected_n: readonly (readonly (number | null)[])[]; min: readonly (readonly (number | null)[])[]; max: readonly (readonly (number | null)[])[]; totals: readonly ({ n: number; good_n: number; expected_n: number | null; qmask: number | null; min: number | null; max: number | null; mean: number | null; suspect: { n: number; min: number; max: number; mean: number } | null; first: number | null; last: number | null; sum: number | null })[] } };
  };
  /** Export everything that is held of a user */
  exportUser: {
    method: 'GET';
    path: '/api/v1/xusers/{xuserId}/export';
    params: { xuserId: string };
    query: {};
    body: undefined;
    answer: unknown;
  };
  /** List devices with their health */
  listDevices: {
    method: 'GET';
    path: '/api/v1/devices';
    params: {};
    query: { project_id?: string | undefined; group_id?: string | undefined; flowing?: boolean | undefined; ids?: readonly string[] | undefined; limit?: number | undefined };
    body: undefined;
    answer: readonly { id: string; device_id: string; name: string; firmware: string; project_id: string | null; xuser_id: string | null; external_id: string | null; display_name: string | null; stream_id: string | null; is_flowing: boolean; last_packet_at: string | null; last_sample_at: string | null; lag_ms: number | null; packets: number; lost_packets: number; battery_percent: number | null; battery_at: string | null; clock: { skew_ppm: number | null; rms_ms: number | null; pairs: number }; channels: readonly string[]; set_aside: number }[];
  };
  /** Quality of the signals of all users, by the hour */
  getSignalQuality: {
    method: 'GET';
    path: '/api/v1/signal-quality';
    params: {};
    query: { project_id?: string | undefined; group_id?: string | undefined; hours?: number | undefined; limit?: number | undefined };
    body: undefined;
    answer: readonly { xuser_id: string; external_id: string; display_name: string; feature: string; hours: readonly { start: string; expected: number; n: number; good: number; suspect: number }[] }[];
  };
  /** Find people, devices and recordings */
  search: {
    method: 'GET';
    path: '/api/v1/search';
    params: {};
    query: { q: string; limit?: number | undefined };
    body: undefined;
    answer: { people: readonly { xuser_id: string; external_id: string; display_name: string }[]; devices: readonly { id: string; device_id: string; name: string; xuser_id: string | null; external_id: string | null }[]; recordings: readonly { stream_id: string; external_id: string; device_id: string; started_at: string }[] };
  };
  /** List the episodes of a user */
  listEpisodes: {
    method: 'GET';
    path: '/api/v1/episodes';
    params: {};
    query: { subject_id?: string | undefined; since?: string | undefined; until?: string | undefined; kind?: string | undefined; status?: 'open' | 'closed' | 'cancelled' | undefined; acknowledged?: boolean | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { id: string; subject_id: string; stream_id: string | null; kind: string; title: string; status: 'open' | 'closed' | 'cancelled'; severity: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at: string | null; summary: Readonly<Record<string, unknown>>; created_by: string; created_at: string; updated_at: string; acknowledged_at: string | null; acknowledged_by: string | null; acknowledged_by_name: string | null; acknowledgement_note: string | null; is_reviewed: boolean; artifact_count: number }[];
  };
  /** Create an episode */
  createEpisode: {
    method: 'POST';
    path: '/api/v1/episodes';
    params: {};
    query: {};
    body: { subject_id: string; stream_id?: string; kind: string; title?: string; status?: 'open' | 'closed' | 'cancelled'; severity?: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at?: string | null; summary?: Readonly<Record<string, unknown>> };
    answer: { id: string; subject_id: string; stream_id: string | null; kind: string; title: string; status: 'open' | 'closed' | 'cancelled'; severity: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at: string | null; summary: Readonly<Record<string, unknown>>; created_by: string; created_at: string; updated_at: string; acknowledged_at: string | null; acknowledged_by: string | null; acknowledged_by_name: string | null; acknowledgement_note: string | null; is_reviewed: boolean; artifact_count: number; artifacts: readonly { id: string; kind: string; title: string; starts_at: string | null; ends_at: string | null; stream_id: string | null; channel_code: string | null; media_type: string; content: unknown; bytes: number; href: string; renditions: { svg?: string; png?: string; csv?: string; wfdb?: string }; created_by: string; created_at: string }[]; acknowledgements: readonly { at: string; by: string; by_name: string | null; note: string; ended_at: string | null }[] };
  };
  /** Read an episode with its artifacts */
  getEpisode: {
    method: 'GET';
    path: '/api/v1/episodes/{id}';
    params: { id: string };
    query: {};
    body: undefined;
    answer: { id: string; subject_id: string; stream_id: string | null; kind: string; title: string; status: 'open' | 'closed' | 'cancelled'; severity: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at: string | null; summary: Readonly<Record<string, unknown>>; created_by: string; created_at: string; updated_at: string; acknowledged_at: string | null; acknowledged_by: string | null; acknowledged_by_name: string | null; acknowledgement_note: string | null; is_reviewed: boolean; artifact_count: number; artifacts: readonly { id: string; kind: string; title: string; starts_at: string | null; ends_at: string | null; stream_id: string | null; channel_code: string | null; media_type: string; content: unknown; bytes: number; href: string; renditions: { svg?: string; png?: string; csv?: string; wfdb?: string }; created_by: string; created_at: string }[]; acknowledgements: readonly { at: string; by: string; by_name: string | null; note: string; ended_at: string | null }[] };
  };
  /** Change, close or open an episode */
  updateEpisode: {
    method: 'PATCH';
    path: '/api/v1/episodes/{id}';
    params: { id: string };
    query: {};
    body: { title?: string; status?: 'open' | 'closed' | 'cancelled'; severity?: 'none' | 'low' | 'medium' | 'high'; ended_at?: string | null; summary?: Readonly<Record<string, unknown>> };
    answer: { id: string; subject_id: string; stream_id: string | null; kind: string; title: string; status: 'open' | 'closed' | 'cancelled'; severity: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at: string | null; summary: Readonly<Record<string, unknown>>; created_by: string; created_at: string; updated_at: string; acknowledged_at: string | null; acknowledged_by: string | null; acknowledged_by_name: string | null; acknowledgement_note: string | null; is_reviewed: boolean; artifact_count: number; artifacts: readonly { id: string; kind: string; title: string; starts_at: string | null; ends_at: string | null; stream_id: string | null; channel_code: string | null; media_type: string; content: unknown; bytes: number; href: string; renditions: { svg?: string; png?: string; csv?: string; wfdb?: string }; created_by: string; created_at: string }[]; acknowledgements: readonly { at: string; by: string; by_name: string | null; note: string; ended_at: string | null }[] };
  };
  /** Add an artifact to an episode */
  addArtifact: {
    method: 'POST';
    path: '/api/v1/episodes/{id}/artifacts';
    params: { id: string };
    query: {};
    body: { kind: string; title?: string; starts_at?: string; ends_at?: string; stream_id?: string; channel_code?: string; media_type?: 'application/json' | 'text/plain' | 'text/csv' | 'image/svg+xml' | 'image/png' | 'application/pdf' | 'application/zip'; content?: unknown; data_base64?: string };
    answer: { id: string; subject_id: string; stream_id: string | null; kind: string; title: string; status: 'open' | 'closed' | 'cancelled'; severity: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at: string | null; summary: Readonly<Record<string, unknown>>; created_by: string; created_at: string; updated_at: string; acknowledged_at: string | null; acknowledged_by: string | null; acknowledged_by_name: string | null; acknowledgement_note: string | null; is_reviewed: boolean; artifact_count: number; artifacts: readonly { id: string; kind: string; title: string; starts_at: string | null; ends_at: string | null; stream_id: string | null; channel_code: string | null; media_type: string; content: unknown; bytes: number; href: string; renditions: { svg?: string; png?: string; csv?: string; wfdb?: string }; created_by: string; created_at: string }[]; acknowledgements: readonly { at: string; by: string; by_name: string | null; note: string; ended_at: string | null }[] };
  };
  /** Fetch the data of an artifact */
  getArtifact: {
    method: 'GET';
    path: '/api/v1/episodes/{id}/artifacts/{artifactId}';
    params: { id: string; artifactId: string };
    query: {};
    body: undefined;
    answer: unknown;
  };
  /** Acknowledge an episode */
  acknowledgeEpisode: {
    method: 'POST';
    path: '/api/v1/episodes/{id}/acknowledgement';
    params: { id: string };
    query: {};
    body: { note?: string };
    answer: { id: string; subject_id: string; stream_id: string | null; kind: string; title: string; status: 'open' | 'closed' | 'cancelled'; severity: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at: string | null; summary: Readonly<Record<string, unknown>>; created_by: string; created_at: string; updated_at: string; acknowledged_at: string | null; acknowledged_by: string | null; acknowledged_by_name: string | null; acknowledgement_note: string | null; is_reviewed: boolean; artifact_count: number; artifacts: readonly { id: string; kind: string; title: string; starts_at: string | null; ends_at: string | null; stream_id: string | null; channel_code: string | null; media_type: string; content: unknown; bytes: number; href: string; renditions: { svg?: string; png?: string; csv?: string; wfdb?: string }; created_by: string; created_at: string }[]; acknowledgements: readonly { at: string; by: string; by_name: string | null; note: string; ended_at: string | null }[] };
  };
  /** List what was marked on recordings */
  listAnnotations: {
    method: 'GET';
    path: '/api/v1/annotations';
    params: {};
    query: { subject_id?: string | undefined; stream_id?: string | undefined; since?: string | undefined; until?: string | undefined; kind?: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat' | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { id: string; version: number; subject_id: string; stream_id: string; channel: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at: string | null; beat: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text: string; made_by: string; made_by_name: string | null; made_at: string; deleted: boolean }[];
  };
  /** Mark a moment or a stretch of a recording, or correct a beat */
  createAnnotation: {
    method: 'POST';
    path: '/api/v1/annotations';
    params: {};
    query: {};
    body: { stream_id: string; channel?: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at?: string | null; beat?: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text?: string };
    answer: { id: string; version: number; subject_id: string; stream_id: string; channel: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at: string | null; beat: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text: string; made_by: string; made_by_name: string | null; made_at: string; deleted: boolean; versions: readonly { id: string; version: number; subject_id: string; stream_id: string; channel: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at: string | null; beat: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text: string; made_by: string; made_by_name: string | null; made_at: string; deleted: boolean }[] };
  };
  /** Read an annotation with every version */
  getAnnotation: {
    method: 'GET';
    path: '/api/v1/annotations/{annotationId}';
    params: { annotationId: string };
    query: {};
    body: undefined;
    answer: { id: string; version: number; subject_id: string; stream_id: string; channel: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at: string | null; beat: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text: string; made_by: string; made_by_name: string | null; made_at: string; deleted: boolean; versions: readonly { id: string; version: number; subject_id: string; stream_id: string; channel: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at: string | null; beat: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text: string; made_by: string; made_by_name: string | null; made_at: string; deleted: boolean }[] };
  };
  /** Change an annotation */
  updateAnnotation: {
    method: 'PATCH';
    path: '/api/v1/annotations/{annotationId}';
    params: { annotationId: string };
    query: {};
    body: { channel?: string | null; kind?: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at?: string; ends_at?: string | null; beat?: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text?: string };
    answer: { id: string; version: number; subject_id: string; stream_id: string; channel: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at: string | null; beat: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text: string; made_by: string; made_by_name: string | null; made_at: string; deleted: boolean; versions: readonly { id: string; version: number; subject_id: string; stream_id: string; channel: string | null; kind: 'note' | 'symptom' | 'activity' | 'artefact' | 'rhythm' | 'beat'; starts_at: string; ends_at: string | null; beat: 'N' | 'S' | 'V' | 'F' | 'Q' | 'none' | null; text: string; made_by: string; made_by_name: string | null; made_at: string; deleted: boolean }[] };
  };
  /** Take an annotation back */
  deleteAnnotation: {
    method: 'DELETE';
    path: '/api/v1/annotations/{annotationId}';
    params: { annotationId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** Try a rule on history */
  tryRule: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/rules/try';
    params: { projectId: string };
    query: {};
    body: { rule: { name: string; kind?: string; subject_id?: string | null; group_id?: string | null; feature: string; comparison: 'above' | 'below'; threshold: number; end_threshold?: number | null; sustain_sec: number; release_sec?: number; quality_max?: 0 | 1; severity?: 'none' | 'low' | 'medium' | 'high'; email_to?: readonly string[]; quiet_from?: string | null; quiet_to?: string | null; enabled?: boolean }; since: string; until: string };
    answer: { since: string; until: string; episodes: readonly { subject_id: string; external_id: string; stream_id: string; started_at: string; ended_at: string | null; extreme: number; duration_sec: number }[]; episode_count: number; person_count: number; covered_sec: number; recording_count: number; recording_total: number; with_value_count: number; complete: boolean };
  };
  /** List the rules of a project */
  listRules: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/rules';
    params: { projectId: string };
    query: {};
    body: undefined;
    answer: readonly { id: string; project_id: string; name: string; kind: string; feature: string; comparison: 'above' | 'below'; threshold: number; end_threshold: number | null; sustain_sec: number; release_sec: number; quality_max: 0 | 1; severity: 'none' | 'low' | 'medium' | 'high'; email_to: readonly string[]; quiet_from: string | null; quiet_to: string | null; enabled: boolean; subject_id: string | null; external_id: string | null; group_id: string | null; open_episodes: number; email_problem: string | null; created_by: string; created_at: string; updated_at: string }[];
  };
  /** Make a rule that opens an episode */
  createRule: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/rules';
    params: { projectId: string };
    query: {};
    body: { name: string; kind?: string; subject_id?: string | null; group_id?: string | null; feature: string; comparison: 'above' | 'below'; threshold: number; end_threshold?: number | null; sustain_sec: number; release_sec?: number; quality_max?: 0 | 1; severity?: 'none' | 'low' | 'medium' | 'high'; email_to?: readonly string[]; quiet_from?: string | null; quiet_to?: string | null; enabled?: boolean };
    answer: { id: string; project_id: string; name: string; kind: string; feature: string; comparison: 'above' | 'below'; threshold: number; end_threshold: number | null; sustain_sec: number; release_sec: number; quality_max: 0 | 1; severity: 'none' | 'low' | 'medium' | 'high'; email_to: readonly string[]; quiet_from: string | null; quiet_to: string | null; enabled: boolean; subject_id: string | null; external_id: string | null; group_id: string | null; open_episodes: number; email_problem: string | null; created_by: string; created_at: string; updated_at: string };
  };
  /** Read a rule */
  getRule: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/rules/{ruleId}';
    params: { projectId: string; ruleId: string };
    query: {};
    body: undefined;
    answer: { id: string; project_id: string; name: string; kind: string; feature: string; comparison: 'above' | 'below'; threshold: number; end_threshold: number | null; sustain_sec: number; release_sec: number; quality_max: 0 | 1; severity: 'none' | 'low' | 'medium' | 'high'; email_to: readonly string[]; quiet_from: string | null; quiet_to: string | null; enabled: boolean; subject_id: string | null; external_id: string | null; group_id: string | null; open_episodes: number; email_problem: string | null; created_by: string; created_at: string; updated_at: string };
  };
  /** Change a rule, or switch it on or off */
  updateRule: {
    method: 'PATCH';
    path: '/api/v1/projects/{projectId}/rules/{ruleId}';
    params: { projectId: string; ruleId: string };
    query: {};
    body: { name?: string; kind?: string; feature?: string; comparison?: 'above' | 'below'; threshold?: number; end_threshold?: number | null; sustain_sec?: number; release_sec?: number; quality_max?: 0 | 1; severity?: 'none' | 'low' | 'medium' | 'high'; email_to?: readonly string[]; quiet_from?: string | null; quiet_to?: string | null; enabled?: boolean; subject_id?: string | null; group_id?: string | null };
    answer: { id: string; project_id: string; name: string; kind: string; feature: string; comparison: 'above' | 'below'; threshold: number; end_threshold: number | null; sustain_sec: number; release_sec: number; quality_max: 0 | 1; severity: 'none' | 'low' | 'medium' | 'high'; email_to: readonly string[]; quiet_from: string | null; quiet_to: string | null; enabled: boolean; subject_id: string | null; external_id: string | null; group_id: string | null; open_episodes: number; email_problem: string | null; created_by: string; created_at: string; updated_at: string };
  };
  /** Delete a rule */
  deleteRule: {
    method: 'DELETE';
    path: '/api/v1/projects/{projectId}/rules/{ruleId}';
    params: { projectId: string; ruleId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** Erase a user and everything that was recorded of them */
  eraseUser: {
    method: 'POST';
    path: '/api/v1/xusers/{xuserId}/erase';
    params: { xuserId: string };
    query: {};
    body: { confirm_external_id: string };
    answer: { xuser_id: string; erased_at: string; stores: readonly { store: string; deleted: number; remaining: number }[]; devices_shared: number; packet_log_until: string };
  };
  /** List mood entries */
  listMoods: {
    method: 'GET';
    path: '/api/v1/moods';
    params: {};
    query: { subject_id?: string | undefined; since?: string | undefined; until?: string | undefined; order?: 'asc' | 'desc' | undefined; limit?: number | undefined };
    body: undefined;
    answer: readonly { id: string; score: number; note: string | null; time: string }[];
  };
  /** Enter a mood */
  createMood: {
    method: 'POST';
    path: '/api/v1/moods';
    params: {};
    query: {};
    body: { score: number; note?: string; time?: string };
    answer: { id: string; score: number; note: string | null; time: string };
  };
  /** List journal entries */
  listJournal: {
    method: 'GET';
    path: '/api/v1/journal';
    params: {};
    query: { subject_id?: string | undefined; since?: string | undefined; until?: string | undefined; order?: 'asc' | 'desc' | undefined; limit?: number | undefined };
    body: undefined;
    answer: readonly { id: string; text: string | null; time: string }[];
  };
  /** Write a journal entry */
  createJournalEntry: {
    method: 'POST';
    path: '/api/v1/journal';
    params: {};
    query: {};
    body: { text: string; time?: string };
    answer: { id: string; time: string };
  };
  /** List the questionnaires that are asked */
  listQuestionnaires: {
    method: 'GET';
    path: '/api/v1/questionnaires';
    params: {};
    query: { project_id?: string | undefined };
    body: undefined;
    answer: readonly { id: string; version: string; title: string }[];
  };
  /** Read a questionnaire as a FHIR R4 resource */
  getQuestionnaire: {
    method: 'GET';
    path: '/api/v1/questionnaires/{questionnaireId}';
    params: { questionnaireId: string };
    query: { project_id?: string | undefined; version?: string | undefined };
    body: undefined;
    answer: { resourceType: 'Questionnaire'; id: string };
  };
  /** List every version with its scoring rules */
  listQuestionnaireVersions: {
    method: 'GET';
    path: '/api/v1/projects/{projectId}/questionnaires';
    params: { projectId: string };
    query: {};
    body: undefined;
    answer: readonly { id: string; version: string; status: 'active' | 'retired'; built_in: boolean; created_by: string; created_at: string | null; resource: { resourceType: 'Questionnaire'; id: string }; scoring: { scores: readonly { name: string; expression: string; code?: string; bands?: readonly { from: number; text: string }[] }[]; safety: readonly { title: string; expression: string }[] } }[];
  };
  /** Publish a version of a questionnaire with its scoring rules */
  publishQuestionnaire: {
    method: 'PUT';
    path: '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}';
    params: { projectId: string; questionnaireId: string };
    query: {};
    body: { resource: { title: string; description?: string; item: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }; scoring: { scores: readonly { name: string; expression: string; code?: string; bands?: readonly { from: number; text: string }[] }[]; safety: readonly { title: string; expression: string }[] } };
    answer: { id: string; version: string; status: 'active' | 'retired'; built_in: boolean; created_by: string; created_at: string | null; resource: { resourceType: 'Questionnaire'; id: string }; scoring: { scores: readonly { name: string; expression: string; code?: string; bands?: readonly { from: number; text: string }[] }[]; safety: readonly { title: string; expression: string }[] } };
  };
  /** Ask a project's own questionnaire no longer */
  retireQuestionnaire: {
    method: 'DELETE';
    path: '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}';
    params: { projectId: string; questionnaireId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** Score answers without keeping anything */
  tryQuestionnaire: {
    method: 'POST';
    path: '/api/v1/projects/{projectId}/questionnaire-trials';
    params: { projectId: string };
    query: {};
    body: { resource: { title: string; description?: string; item: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; prefix?: string; text?: string; type: 'choice' | 'boolean' | 'integer' | 'decimal' | 'date' | 'string' | 'text' | 'display' | 'group'; required?: boolean; repeats?: boolean; maxLength?: number; enableWhen?: readonly { question: string; operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<='; answerBoolean?: boolean; answerInteger?: number; answerDecimal?: number; answerString?: string; answerDate?: string; answerCoding?: { system?: string; code: string; display?: string } }[]; enableBehavior?: 'all' | 'any'; answerOption?: readonly { valueCoding: { system?: string; code: string; display?: string }; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[]; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }; scoring: { scores: readonly { name: string; expression: string; code?: string; bands?: readonly { from: number; text: string }[] }[]; safety: readonly { title: string; expression: string }[] }; item: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[] }[] }[] };
    answer: { scores: readonly { name: string; value: number; text: string }[]; safety: readonly string[] };
  };
  /** Answer a questionnaire */
  createQuestionnaireResponse: {
    method: 'POST';
    path: '/api/v1/questionnaire-responses';
    params: {};
    query: {};
    body: { resourceType: 'QuestionnaireResponse'; questionnaire: string; version?: string; status: 'completed'; authored?: string; item: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[] }[] }[] };
    answer: { id: string; scores: readonly { name: string; value: number; text: string }[]; safety: boolean };
  };
  /** Correct a response */
  amendQuestionnaireResponse: {
    method: 'POST';
    path: '/api/v1/questionnaire-responses/{responseId}/amendments';
    params: { responseId: string };
    query: {};
    body: { item: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[] }[] }[]; reason?: string };
    answer: { id: string; scores: readonly { name: string; value: number; text: string }[]; safety: boolean };
  };
  /** List answered questionnaires with their scores */
  listQuestionnaireResponses: {
    method: 'GET';
    path: '/api/v1/questionnaire-responses';
    params: {};
    query: { subject_id?: string | undefined; questionnaire?: string | undefined; superseded?: boolean | undefined; limit?: number | undefined };
    body: undefined;
    answer: readonly { id: string; questionnaire: string; version: string; status: 'completed' | 'amended'; authored: string; scores: readonly { name: string; value: number; text: string }[]; safety: boolean; item: readonly unknown[]; amends: string | null; superseded_by: string | null; reason: string }[];
  };
  /** Read one's draft */
  getQuestionnaireDraft: {
    method: 'GET';
    path: '/api/v1/questionnaires/{questionnaireId}/draft';
    params: { questionnaireId: string };
    query: {};
    body: undefined;
    answer: { questionnaire: string; version: string; item: readonly unknown[]; updated_at: string };
  };
  /** Keep one's draft */
  saveQuestionnaireDraft: {
    method: 'PUT';
    path: '/api/v1/questionnaires/{questionnaireId}/draft';
    params: { questionnaireId: string };
    query: {};
    body: { version?: string; item: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[]; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[]; item?: readonly { linkId: string; text?: string; answer?: readonly { valueCoding?: { system?: string; code: string; display?: string }; valueBoolean?: boolean; valueInteger?: number; valueDecimal?: number; valueDate?: string; valueString?: string; extension?: readonly { url: string; valueInteger?: number; valueDecimal?: number }[] }[] }[] }[] }[] }[] }[] }[] }[] };
    answer: { questionnaire: string; version: string; item: readonly unknown[]; updated_at: string };
  };
  /** Throw one's draft away */
  deleteQuestionnaireDraft: {
    method: 'DELETE';
    path: '/api/v1/questionnaires/{questionnaireId}/draft';
    params: { questionnaireId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** List the tasks of a person */
  listTasks: {
    method: 'GET';
    path: '/api/v1/tasks';
    params: {};
    query: { subject_id?: string | undefined };
    body: undefined;
    answer: readonly { id: string; title: string; description: string; due: string | null; status: 'due' | 'done' | 'skipped'; status_at: string | null; schedule_id: string | null; questionnaire: string | null; response_id: string | null }[];
  };
  /** Give a person a task */
  createTask: {
    method: 'POST';
    path: '/api/v1/tasks';
    params: {};
    query: {};
    body: { subject_id: string; title: string; description?: string; due?: string | null };
    answer: { id: string; title: string; description: string; due: string | null; status: 'due' | 'done' | 'skipped'; status_at: string | null; schedule_id: string | null; questionnaire: string | null; response_id: string | null };
  };
  /** Mark a task */
  setTaskStatus: {
    method: 'POST';
    path: '/api/v1/tasks/{taskId}/status';
    params: { taskId: string };
    query: {};
    body: { status: 'due' | 'done' | 'skipped'; time?: string };
    answer: { id: string; title: string; description: string; due: string | null; status: 'due' | 'done' | 'skipped'; status_at: string | null; schedule_id: string | null; questionnaire: string | null; response_id: string | null };
  };
  /** List what recurs for a person */
  listTaskSchedules: {
    method: 'GET';
    path: '/api/v1/task-schedules';
    params: {};
    query: { subject_id?: string | undefined };
    body: undefined;
    answer: readonly { id: string; subject_id: string; title: string; description: string; every: 'day' | 'week'; every_n: number; weekdays: readonly number[]; times: readonly string[]; starts_on: string; ends_on: string | null; questionnaire: string | null; ended_at: string | null }[];
  };
  /** Give a person a task that recurs */
  createTaskSchedule: {
    method: 'POST';
    path: '/api/v1/task-schedules';
    params: {};
    query: {};
    body: { subject_id: string; title: string; description?: string; every: 'day' | 'week'; every_n?: number; weekdays?: readonly number[]; times: readonly string[]; starts_on?: string; ends_on?: string | null; questionnaire?: string };
    answer: { id: string; subject_id: string; title: string; description: string; every: 'day' | 'week'; every_n: number; weekdays: readonly number[]; times: readonly string[]; starts_on: string; ends_on: string | null; questionnaire: string | null; ended_at: string | null };
  };
  /** Let a task recur no longer */
  endTaskSchedule: {
    method: 'DELETE';
    path: '/api/v1/task-schedules/{scheduleId}';
    params: { scheduleId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** How a person keeps to what recurs */
  getAdherence: {
    method: 'GET';
    path: '/api/v1/adherence';
    params: {};
    query: { subject_id?: string | undefined; since?: string | undefined; until?: string | undefined };
    body: undefined;
    answer: { subject_id: string; since: string; until: string; schedules: readonly { schedule_id: string; title: string; questionnaire: string | null; ended_at: string | null; done: number; skipped: number; missed: number; due: number; adherence: number | null }[] };
  };
  /** List the goals of a person, with progress */
  listGoals: {
    method: 'GET';
    path: '/api/v1/goals';
    params: {};
    query: { subject_id?: string | undefined };
    body: undefined;
    answer: readonly { id: string; biosignal_id: number; name: string; unit: string; title: string; target: number; agg: 'sum' | 'mean' | 'max' | 'count'; period: 'day' | 'week'; period_start: string; value: number | null }[];
  };
  /** Set a person a goal */
  createGoal: {
    method: 'POST';
    path: '/api/v1/goals';
    params: {};
    query: {};
    body: { subject_id: string; biosignal_id: number; target: number; title?: string; agg?: 'sum' | 'mean' | 'max' | 'count'; period?: 'day' | 'week' };
    answer: { id: string; biosignal_id: number; name: string; unit: string; title: string; target: number; agg: 'sum' | 'mean' | 'max' | 'count'; period: 'day' | 'week'; period_start: string; value: number | null };
  };
  /** End a goal */
  endGoal: {
    method: 'DELETE';
    path: '/api/v1/goals/{goalId}';
    params: { goalId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** List episodes of all users */
  listRecentEpisodes: {
    method: 'GET';
    path: '/api/v1/fleet/episodes';
    params: {};
    query: { project_id?: string | undefined; group_id?: string | undefined; status?: 'open' | 'closed' | 'cancelled' | undefined; acknowledged?: boolean | undefined; sort?: 'newest' | 'oldest' | 'severity' | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: readonly { id: string; xuser_id: string; external_id: string; display_name: string; kind: string; title: string; status: 'open' | 'closed' | 'cancelled'; severity: 'none' | 'low' | 'medium' | 'high'; started_at: string; ended_at: string | null; acknowledged_at: string | null; acknowledged_by_name: string | null; is_reviewed: boolean; artifact_count: number }[];
  };
  /** Count what needs attention */
  getFleetCounts: {
    method: 'GET';
    path: '/api/v1/fleet/counts';
    params: {};
    query: { project_id?: string | undefined };
    body: undefined;
    answer: { episodes_open: number; episodes_open_high: number; people: number; devices: number; rules_on: number; groups: number };
  };
  /** Send a ping now and say what was answered */
  testWebhook: {
    method: 'POST';
    path: '/api/v1/webhooks/{webhookId}/test';
    params: { webhookId: string };
    query: {};
    body: {};
    answer: { message_id: string; delivered: boolean; status: number | null; duration_ms: number; error: string | null };
  };
  /** Give a webhook a new secret; the old one signs too for an overlap */
  rotateWebhookSecret: {
    method: 'POST';
    path: '/api/v1/webhooks/{webhookId}/rotate-secret';
    params: { webhookId: string };
    query: {};
    body: { overlap_sec?: number };
    answer: { id: string; project_id: string | null; url: string; events: readonly ('episode.created' | 'episode.updated' | 'episode.acknowledged' | 'artifact.created' | 'xuser.updated' | 'xuser.erased' | '*')[]; description: string; created_at: string; gone_at: string | null; gone_reason: string | null; previous_secret_expires_at: string | null; secret: string };
  };
  /** Call a webhook again that was given up */
  resumeWebhook: {
    method: 'POST';
    path: '/api/v1/webhooks/{webhookId}/resume';
    params: { webhookId: string };
    query: {};
    body: {};
    answer: { id: string; project_id: string | null; url: string; events: readonly ('episode.created' | 'episode.updated' | 'episode.acknowledged' | 'artifact.created' | 'xuser.updated' | 'xuser.erased' | '*')[]; description: string; created_at: string; gone_at: string | null; gone_reason: string | null; previous_secret_expires_at: string | null };
  };
  /** List webhooks */
  listWebhooks: {
    method: 'GET';
    path: '/api/v1/webhooks';
    params: {};
    query: {};
    body: undefined;
    answer: readonly { id: string; project_id: string | null; url: string; events: readonly ('episode.created' | 'episode.updated' | 'episode.acknowledged' | 'artifact.created' | 'xuser.updated' | 'xuser.erased' | '*')[]; description: string; created_at: string; gone_at: string | null; gone_reason: string | null; previous_secret_expires_at: string | null }[];
  };
  /** Register a webhook */
  createWebhook: {
    method: 'POST';
    path: '/api/v1/webhooks';
    params: {};
    query: {};
    body: { url: string; events: readonly ('episode.created' | 'episode.updated' | 'episode.acknowledged' | 'artifact.created' | 'xuser.updated' | 'xuser.erased' | '*')[]; project_id?: string | null; description?: string };
    answer: { id: string; project_id: string | null; url: string; events: readonly ('episode.created' | 'episode.updated' | 'episode.acknowledged' | 'artifact.created' | 'xuser.updated' | 'xuser.erased' | '*')[]; description: string; created_at: string; gone_at: string | null; gone_reason: string | null; previous_secret_expires_at: string | null; secret: string };
  };
  /** Remove a webhook */
  deleteWebhook: {
    method: 'DELETE';
    path: '/api/v1/webhooks/{webhookId}';
    params: { webhookId: string };
    query: {};
    body: undefined;
    answer: null;
  };
  /** List the deliveries of a webhook, newest first */
  listDeliveries: {
    method: 'GET';
    path: '/api/v1/webhooks/{webhookId}/deliveries';
    params: { webhookId: string };
    query: { limit?: number | undefined; status?: 'pending' | 'delivered' | 'failed' | undefined };
    body: undefined;
    answer: readonly { id: string; event: string; status: 'pending' | 'delivered' | 'failed'; attempts: number; next_attempt_at: string; last_status: number | null; last_error: string | null; created_at: string; delivered_at: string | null }[];
  };
  /** Deliver once more, with the same id */
  replayDelivery: {
    method: 'POST';
    path: '/api/v1/webhooks/{webhookId}/deliveries/{deliveryId}/replay';
    params: { webhookId: string; deliveryId: string };
    query: {};
    body: {};
    answer: { id: string; event: string; status: 'pending' | 'delivered' | 'failed'; attempts: number; next_attempt_at: string; last_status: number | null; last_error: string | null; created_at: string; delivered_at: string | null };
  };
};
