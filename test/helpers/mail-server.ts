/** A mail server of a test on loopback: takes what SMTP brings (RFC 5321), and refuses a recipient whose name begins with `gone`
 *  for good; mail to one with `full` it takes and then says that it has not; to one with `slow` it never answers. While it is locked it
 *  refuses every message, as one does whose password has changed. */
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export type Mail = Readonly<{ from: string; to: string; text: string }>;
export type MailServer = Readonly<{
  url: string;
  mails: readonly Mail[];
  lock: (isLocked: boolean) => void;
  [Symbol.asyncDispose]: () => Promise<void>;
}>;

export async function mailServer(): Promise<MailServer> {
  const mails: Mail[] = [];
  let isLocked = false;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined); // the peer's end of the test
    converse(
      socket,
      (mail) => mails.push(mail),
      () => isLocked,
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    lock: (wanted) => (isLocked = wanted),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function converse(socket: Socket, take: (mail: Mail) => void, isLocked: () => boolean): void {
  let rest = '';
  let data: string[] | null = null;
  let [from, to] = ['', ''];
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  const hear = (line: string): void => {
    if (data !== null) {
      if (line !== '.') return void data.push(line.replace(/^\./, ''));
      take({ from, to, text: data.join('\n') });
      data = null;
      return say(to.startsWith('full') ? '452 mailbox full' : '250 taken');
    }
    const [, address = ''] = /<([^>]*)>/.exec(line) ?? [];
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO' || verb === 'HELO') return say('250 test');
    if (verb === 'QUIT') return void socket.end('221 bye\r\n');
    if (verb === 'MAIL' && isLocked()) return say('530 authentication required');
    if (verb === 'MAIL') from = address;
    if (verb === 'RCPT' && address.startsWith('gone')) return say('550 no such address');
    if (verb === 'RCPT' && address.startsWith('slow')) return;
    if (verb === 'RCPT') to = address;
    if (verb !== 'DATA') return say('250 ok');
    data = [];
    say('354 go on');
  };
  say('220 test');
  socket.on('data', (bytes) => {
    const lines = (rest + bytes.toString()).split('\r\n');
    rest = lines.pop() ?? '';
    lines.forEach(hear);
  });
}
