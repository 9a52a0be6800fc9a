/* A whole device in C with POSIX sockets and no library: samples ECG, cuts it into packets of one second, sends them in batches over HTTP,
 * and keeps each packet until the service says that it is durable.
 *
 *   cc -O2 -o device device.c -lm && BIO_URL=http://127.0.0.1:8080 BIO_KEY=org_live_... ./device 10
 *
 * All memory is static: a ring of packets that are not acknowledged yet. On a device, sample() reads the ADC, boot_id comes from the
 * hardware's random source at every start of the sampling clock, and the socket is your TLS stack's: plain HTTP is for loopback. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FS 250
#define PACKET_BYTES 1024 /* one second of deltas at 250 Hz, with room */
#define RING 512          /* unacknowledged packets that are kept; beyond it the oldest is given up */
#define BATCH 5           /* packets in one request */

typedef struct {
  uint8_t bytes[PACKET_BYTES];
  size_t len;
} packet_t;

static packet_t ring[RING];
static unsigned head, count; /* oldest, how many */

/* ---- the wire: proto/biosignal.proto */

static void put(packet_t *p, uint8_t byte) {
  if (p->len < PACKET_BYTES) p->bytes[p->len] = byte;
  p->len++; /* beyond the end: make_packet() sees it */
}

static void varint(packet_t *p, uint64_t value) {
  for (; value >= 0x80; value >>= 7) put(p, (uint8_t)(value | 0x80));
  put(p, (uint8_t)value);
}

static void uint_field(packet_t *p, unsigned field, uint64_t value) {
  varint(p, field << 3);
  varint(p, value);
}

static void fixed64_field(packet_t *p, unsigned field, uint64_t value) {
  varint(p, field << 3 | 1);
  for (int i = 0; i < 8; i++) put(p, (uint8_t)(value >> (8 * i)));
}

static void double_field(packet_t *p, unsigned field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  fixed64_field(p, field, bits);
}

static void bytes_field(packet_t *p, unsigned field, const void *data, size_t n) {
  varint(p, field << 3 | 2);
  varint(p, n);
  for (size_t i = 0; i < n; i++) put(p, ((const uint8_t *)data)[i]);
}

static void text_field(packet_t *p, unsigned field, const char *text) { bytes_field(p, field, text, strlen(text)); }

/* A nested message or packed list: two bytes are kept for its length (below 16384), which close_field() fills in. */
static size_t open_field(packet_t *p, unsigned field) {
  varint(p, field << 3 | 2);
  p->len += 2;
  return p->len;
}

static void close_field(packet_t *p, size_t start) {
  size_t n = p->len - start;
  if (p->len > PACKET_BYTES) return;
  p->bytes[start - 2] = (uint8_t)(n | 0x80); /* a varint of two bytes, also for small lengths */
  p->bytes[start - 1] = (uint8_t)(n >> 7);
}

static uint64_t clock_ns(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Stands for the ADC: sample n, a beat every 0.8 s, in microvolts. With noise: a line without any is a lead that fell off. */
static int32_t sample(uint64_t n) {
  double phase = fmod((double)n / FS, 0.8) - 0.4;
  double beat = 1000 * exp(-pow(phase / 0.012, 2)) + 150 * exp(-pow((phase - 0.25) / 0.06, 2));
  return (int32_t)lround(beat + 20.0 * (rand() / (double)RAND_MAX - 0.5));
}

static void make_packet(packet_t *p, const uint8_t boot_id[16], uint64_t seq, uint64_t device_ns, uint64_t unix_ns) {
  p->len = 0;
  uint_field(p, 1, 1);                              /* schema_version */
  text_field(p, 2, "example-c");                    /* device_id: a serial number */
  bytes_field(p, 3, boot_id, 16);                   /* boot_id */
  uint_field(p, 4, seq);
  fixed64_field(p, 5, device_ns);                   /* sampling clock at the first sample */
  fixed64_field(p, 6, unix_ns);                     /* wall clock at the same moment; leave out without one */
  fixed64_field(p, 7, clock_ns(CLOCK_REALTIME));    /* wall clock when it is handed over */
  text_field(p, 8, "example-patient");              /* subject */
  text_field(p, 9, "example 2");                    /* firmware */
  size_t block = open_field(p, 10);
  size_t channel = open_field(p, 1);
  text_field(p, 1, "ecg.ii");
  uint_field(p, 2, 1);                              /* ECG */
  uint_field(p, 3, (uint64_t)FS * 1000000000u);     /* rate_nano_hz */
  double_field(p, 4, 1000.0);                       /* gain: LSB per mV */
  text_field(p, 6, "mV");
  text_field(p, 7, "II");
  close_field(p, channel);
  size_t deltas = open_field(p, 3);
  int32_t previous = 0;
  for (unsigned i = 0; i < FS; i++) {
    int32_t now = sample(seq * FS + i);
    int32_t delta = now - previous;
    previous = now;
    varint(p, (uint32_t)delta << 1 ^ (uint32_t)(delta >> 31)); /* zigzag */
  }
  close_field(p, deltas);
  close_field(p, block);
  if (p->len > PACKET_BYTES) {
    fprintf(stderr, "the packet needs %zu bytes, the buffer has %d\n", p->len, PACKET_BYTES);
    exit(1);
  }
}

/* ---- sending */

static char host[256], port[8];

static int send_all(int fd, const void *data, size_t n) {
  for (const char *at = data; n > 0;) {
    ssize_t done = send(fd, at, n, MSG_NOSIGNAL);
    if (done <= 0) return -1;
    at += done;
    n -= (size_t)done;
  }
  return 0;
}

/* Posts the oldest packets of the ring. @returns HTTP status, 0 without an answer; the whole answer is in `answer`. */
static int post(unsigned packets, const char *key, char *answer, size_t size) {
  static uint8_t body[BATCH * (PACKET_BYTES + 2)];
  size_t n = 0;
  for (unsigned i = 0; i < packets; i++) {
    const packet_t *p = &ring[(head + i) % RING];
    size_t rest = p->len;
    for (; rest >= 0x80; rest >>= 7) body[n++] = (uint8_t)(rest | 0x80);
    body[n++] = (uint8_t)rest;
    memcpy(body + n, p->bytes, p->len);
    n += p->len;
  }
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(host, port, &hints, &found) != 0) return 0;
  int fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol), status = 0;
  struct timeval limit = {.tv_sec = 10};
  if (fd >= 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    char headers[768];
    int length = snprintf(headers, sizeof headers,
                          "POST /ingest/raw-packet HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: Bearer %s\r\n"
                          "Content-Type: application/x-protobuf; encoding=delimited\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                          host, port, key, n);
    if (connect(fd, found->ai_addr, found->ai_addrlen) == 0 && send_all(fd, headers, (size_t)length) == 0 && send_all(fd, body, n) == 0) {
      size_t got = 0;
      ssize_t more;
      while (got < size - 1 && (more = recv(fd, answer + got, size - 1 - got, 0)) > 0) got += (size_t)more;
      answer[got] = 0;
      if (sscanf(answer, "HTTP/1.%*d %d", &status) != 1) status = 0;
    }
    close(fd);
  }
  freeaddrinfo(found);
  return status;
}

/* What to do with an answer: 1 forget the batch, 0 send it again later, -1 stop. */
static int judge(int status, const char *answer) {
  static const char *const again[] = {"\"busy\"", "\"unavailable\"", "\"shutting_down\"", "\"rate_limited\"", "\"internal\""};
  if (status == 0 || status == 408 || status == 429 || status >= 500) return 0;
  if (status != 202) return -1; /* the key or the bytes are wrong: repeating cannot help */
  if (strstr(answer, "\"rejected\":[]") != NULL) return 1;
  /* Some were refused for now: the whole batch goes again, what was kept comes back as a duplicate. */
  for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
    if (strstr(answer, again[i]) != NULL) return 0;
  }
  fprintf(stderr, "refused: %s\n", answer); /* for good: log it and go on */
  return 1;
}

static double wait_sec = 0.25;
static uint64_t not_before_ns;
static unsigned retries, lost, accepted, duplicates;

/* Sends one batch when there are enough packets and no wait is due. */
static void step(unsigned least, const char *key) {
  static char answer[8192];
  if (count < least || count == 0 || clock_ns(CLOCK_MONOTONIC) < not_before_ns) return;
  unsigned batch = count < BATCH ? count : BATCH;
  int status = post(batch, key, answer, sizeof answer);
  int verdict = judge(status, answer);
  if (verdict < 0) {
    fprintf(stderr, "%s\n", answer);
    exit(1);
  }
  if (verdict > 0) {
    unsigned a = 0, d = 0;
    const char *body = strstr(answer, "{\"accepted\":");
    if (body != NULL && sscanf(body, "{\"accepted\":%u,\"duplicates\":%u", &a, &d) == 2) accepted += a, duplicates += d;
    head = (head + batch) % RING;
    count -= batch;
    wait_sec = 0.25;
    return;
  }
  double pause = wait_sec * (0.5 + 0.5 * rand() / RAND_MAX); /* jitter: a ward of devices must not come back at once */
  const char *asked = status == 0 ? NULL : strstr(answer, "etry-after: ");
  if (asked == NULL && status != 0) asked = strstr(answer, "etry-After: ");
  if (asked != NULL && atof(asked + 12) > pause) pause = atof(asked + 12);
  not_before_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(pause * 1e9);
  wait_sec = wait_sec < 5 ? 2 * wait_sec : 10;
  retries++;
}

int main(int argc, char **argv) {
  uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
  const char *url = getenv("BIO_URL"), *key = getenv("BIO_KEY");
  if (key == NULL || sscanf(url == NULL ? "http://127.0.0.1:8080" : url, "http://%255[^:/]:%7[0-9]", host, port) != 2) {
    fprintf(stderr, "set BIO_KEY, and BIO_URL as http://host:port\n");
    return 1;
  }
  uint8_t boot_id[16]; /* new whenever the sampling clock starts again */
  FILE *random = fopen("/dev/urandom", "rb");
  if (random == NULL || fread(boot_id, 1, sizeof boot_id, random) != sizeof boot_id) return 1;
  fclose(random);
  srand(boot_id[0]);
  /* A real device reads its sampling timer; here recorded time passes as fast as it is computed, so it begins in the past. */
  uint64_t start_unix_ns = clock_ns(CLOCK_REALTIME) - seconds * 1000000000u;
  for (uint64_t seq = 0; seq < seconds; seq++) { /* one packet a second, counted from 0 */
    if (count == RING) {
      head = (head + 1) % RING;
      count--;
      lost++;
    }
    make_packet(&ring[(head + count) % RING], boot_id, seq, seq * 1000000000u, start_unix_ns + seq * 1000000000u);
    count++;
    step(BATCH, key);
  }
  struct timespec pause = {.tv_nsec = 10000000};
  for (; count > 0; nanosleep(&pause, NULL)) step(1, key);
  printf("{\"packets\":%llu,\"accepted\":%u,\"duplicates\":%u,\"retries\":%u,\"lost\":%u}\n", (unsigned long long)seconds, accepted,
         duplicates, retries, lost);
  return 0;
}
