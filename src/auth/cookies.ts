/** Cookies of the dashboard. Over HTTPS their names begin with `__Host-`: no other host of the domain can then set or overwrite them. */

/** @param secure the service is reached over HTTPS */
export function cookieName(name: 'bio_session' | 'bio_device', secure: boolean): string {
  return secure ? `__Host-${name}` : name;
}

/** The value of a cookie in a Cookie header; '' when it is absent. */
export function readCookie(header: string, name: string): string {
  for (const part of header.split(';')) {
    const at = part.indexOf('=');
    if (part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return '';
}

export function setCookie(name: string, value: string, maxAgeSec: number, secure: boolean): string {
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSec}${secure ? '; Secure' : ''}`;
}
