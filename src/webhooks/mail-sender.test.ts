import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { mailServer } from '../../test/helpers/mail-server.ts';
import { mailSender } from './mail-sender.ts';

const mail = {
  from: 'rules@bio.example',
  to: { name: '', address: 'ward@bio.example' },
  subject: 'An episode',
  text: 'It began.',
  messageId: '<1@bio.example>',
};

test('a server that says a byte now and then holds a message for its time, and no longer', async () => {
  const sockets = new Set<Socket>();
  const tarpit = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    socket.write('220-test\r\n');
    const timer = setInterval(() => socket.write('220-wait\r\n'), 50);
    socket.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => void tarpit.listen(0, '127.0.0.1', resolve));
  const sentMs = performance.now();
  await expect(mailSender(`smtp://127.0.0.1:${(tarpit.address() as AddressInfo).port}`, 1000)(mail)).rejects.toThrow(
    'the mail server took longer than 1 s',
  );
  expect(performance.now() - sentMs).toBeLessThan(5000);
  await expect.poll(() => sockets.size).toBe(0);
  tarpit.close();
});

test('a message arrives at one that answers; nobody there is said as such', async () => {
  const server = await mailServer();
  await mailSender(server.url)(mail);
  expect(server.mails.map(({ to }) => to)).toEqual(['ward@bio.example']);
  await server[Symbol.asyncDispose]();
  await expect(mailSender(server.url)(mail)).rejects.toThrow('ECONNREFUSED');
});
