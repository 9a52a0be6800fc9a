/** Sends messages to a mail server, each within a time of its own. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { createTransport } from 'nodemailer';
import { isLoopbackHost } from '../config.ts';

export type Mail = Readonly<{
  from: string;
  to: Readonly<{ name: string; address: string }>;
  subject: string;
  text: string;
  messageId: string;
}>;

/** Longest silence of a mail server, ms. */
const SILENT_MS_MAX = 10_000;
/** Longest time that a message may take, ms. */
export const SEND_MS_MAX = 30_000;

/** Without TLS only to this machine, whatever the server offers.
 *  @param smtpUrl smtp:// or smtps://, with user and password if the server wants them
 *  @returns sends a message; rejects when the server refuses it or `sendMsMax` are over: one that says a byte now and then is never silent,
 *  and would hold all that wait */
export function mailSender(smtpUrl: string, sendMsMax: number = SEND_MS_MAX): (mail: Mail) => Promise<void> {
  const { protocol, hostname, port: portOf, username, password } = new URL(smtpUrl);
  const secure = protocol === 'smtps:';
  const isHere = isLoopbackHost(hostname);
  const host = hostname.replace(/^\[|\]$/g, '');
  const port = portOf === '' ? (secure ? 465 : 587) : Number(portOf);
  return async (mail) => {
    let socket: Socket | null = null;
    const transport = createTransport({
      host,
      port,
      secure,
      requireTLS: !secure && !isHere,
      ignoreTLS: isHere,
      greetingTimeout: SILENT_MS_MAX,
      socketTimeout: SILENT_MS_MAX,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      // A socket of ours can be ended from here; one that is not connected in time counts as silent.
      getSocket: (_options, give) => {
        const opened = connect({ host, port, timeout: SILENT_MS_MAX });
        socket = opened;
        opened.once('timeout', () => opened.destroy(new Error(`no connection within ${SILENT_MS_MAX / 1000} s`)));
        opened.once('error', give);
        opened.once('connect', () => {
          opened.setTimeout(0).removeAllListeners('timeout').off('error', give);
          give(null, { connection: opened });
        });
      },
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      socket?.destroy();
    }, sendMsMax);
    try {
      await transport.sendMail(mail);
    } catch (error) {
      throw isLate ? new Error(`the mail server took longer than ${sendMsMax / 1000} s`, { cause: error }) : error;
    } finally {
      clearTimeout(timer);
      transport.close();
    }
  };
}
