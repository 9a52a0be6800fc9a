/** Where the pages get a user token from when the service runs as a demo: the address that `npm start` prints carries the secret of
 *  that run in its fragment (#demo=…), which no request and no log ever sees. */

export type DemoSession = Readonly<{ xuser_token: string; xuser_id: string; expires_in: number; sdk_key: string }>;

/** @returns null where the service is not a demo, or the address is from an earlier start */
export async function fetchDemoSession(): Promise<DemoSession | null> {
  const secret = new URLSearchParams(location.hash.slice(1)).get('demo');
  if (secret === null) return null;
  const response = await fetch('/demo/session', {
    method: 'POST',
    credentials: 'omit',
    cache: 'no-store',
    headers: { authorization: `Bearer ${secret}` },
  });
  return response.ok ? ((await response.json()) as DemoSession) : null;
}
