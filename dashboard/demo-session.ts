/** Where the pages get a user token from when the service runs as a demo: an endpoint that answers on loopback only. */

export type DemoSession = Readonly<{ xuser_token: string; xuser_id: string; expires_in: number; sdk_key: string }>;

/** @returns null where the service is not a demo */
export async function fetchDemoSession(): Promise<DemoSession | null> {
  const response = await fetch('/demo/session', { credentials: 'omit', cache: 'no-store' });
  return response.ok ? ((await response.json()) as DemoSession) : null;
}
