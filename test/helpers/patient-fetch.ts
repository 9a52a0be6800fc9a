/** fetch on a machine at work: a connection that was not there within undici's 10 s was never asked anything, so it is tried again. */

const ATTEMPTS = 4;

export async function patientFetch(url: string, init: RequestInit = {}): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetch(url, init);
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      if (code !== 'UND_ERR_CONNECT_TIMEOUT' || attempt === ATTEMPTS) throw error;
    }
  }
}
