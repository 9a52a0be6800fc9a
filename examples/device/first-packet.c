/* A device in C: writes one packet of two seconds of ECG to standard output; send it with any HTTP client.
 *
 *   cc -o first-packet first-packet.c -lm && ./first-packet | sh send.sh -
 *
 * The encoder takes no memory of its own and needs no library: field tags, varints, and the lengths of nested messages filled in after.
 * On a device, t0_device_ns comes from the sampling timer and seq and boot_id from where they survive a task's restart. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FS 250
#define N (2 * FS)

static uint8_t buf[4096];
static size_t len;

static void put(uint8_t byte) {
  if (len < sizeof buf) buf[len] = byte;
  len++; /* beyond the end: main() sees it */
}

static void varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) put((uint8_t)(value | 0x80));
  put((uint8_t)value);
}

static void uint_field(unsigned field, uint64_t value) {
  varint(field << 3);
  varint(value);
}

static void fixed64_field(unsigned field, uint64_t value) {
  varint(field << 3 | 1);
  for (int i = 0; i < 8; i++) put((uint8_t)(value >> (8 * i)));
}

static void double_field(unsigned field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  fixed64_field(field, bits);
}

static void bytes_field(unsigned field, const void *data, size_t n) {
  varint(field << 3 | 2);
  varint(n);
  for (size_t i = 0; i < n; i++) put(((const uint8_t *)data)[i]);
}

static void text_field(unsigned field, const char *text) { bytes_field(field, text, strlen(text)); }

/* A nested message or packed list: two bytes are kept for its length (below 16384), which close_field() fills in. */
static size_t open_field(unsigned field) {
  varint(field << 3 | 2);
  len += 2;
  return len;
}

static void close_field(size_t start) {
  size_t n = len - start;
  if (len > sizeof buf || n >= 16384) return;
  buf[start - 2] = (uint8_t)(n | 0x80); /* a varint of two bytes, also for small lengths */
  buf[start - 1] = (uint8_t)(n >> 7);
}

int main(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  uint8_t boot_id[16] = {0};
  FILE *random = fopen("/dev/urandom", "rb"); /* a device uses its own source: the id must be new at every boot */
  if (random == NULL || fread(boot_id, 1, sizeof boot_id, random) != sizeof boot_id) return 1;
  fclose(random);

  uint_field(1, 1);                            /* schema_version */
  text_field(2, "example-c");                  /* device_id */
  bytes_field(3, boot_id, sizeof boot_id);     /* boot_id */
  uint_field(4, 0);                            /* seq */
  fixed64_field(5, 0);                         /* t0_device_ns */
  fixed64_field(6, now_ns - 2000000000u);      /* t0_unix_ns; leave out without a wall clock */
  fixed64_field(7, now_ns);                    /* sent_unix_ns */
  text_field(8, "example-patient");            /* subject */
  text_field(9, "example 1");                  /* firmware */
  size_t block = open_field(10);
  size_t channel = open_field(1);
  text_field(1, "ecg.ii");
  uint_field(2, 1);                            /* ECG */
  uint_field(3, (uint64_t)FS * 1000000000u);   /* rate_nano_hz */
  double_field(4, 1000.0);                     /* gain: LSB per mV */
  text_field(6, "mV");
  text_field(7, "II");
  close_field(channel);
  size_t deltas = open_field(3);
  int32_t previous = 0;
  for (int i = 0; i < N; i++) {                /* a beat every 0.8 s, in microvolts */
    double phase = fmod((double)i / FS, 0.8) - 0.4;
    int32_t sample = (int32_t)lround(1000 * exp(-pow(phase / 0.012, 2)) + 150 * exp(-pow((phase - 0.25) / 0.06, 2)));
    int32_t delta = sample - previous;
    previous = sample;
    varint((uint32_t)delta << 1 ^ (uint32_t)(delta >> 31)); /* zigzag */
  }
  close_field(deltas);
  close_field(block);
  if (len > sizeof buf) {
    fprintf(stderr, "the packet needs %zu bytes, the buffer has %zu\n", len, sizeof buf);
    return 1;
  }
  return fwrite(buf, 1, len, stdout) == len ? 0 : 1;
}
