/* A native plugin in plain C: it shows what is in the Base64 payloads of MCP tools. Text is shown as text, anything else by its kind and
 * the first of its bytes. It was written from docs/native.md and streamfmt_plugin.h alone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streamfmt_plugin.h"

/* Shorter texts are words that happen to be made of the same letters. */
#define SHORTEST 32
/* Larger payloads are left alone. */
#define LARGEST (4u << 20)
/* Bytes of a dump. */
#define DUMPED 64

static int digit(uint8_t sign) {
  if (sign >= 'A' && sign <= 'Z') return sign - 'A';
  if (sign >= 'a' && sign <= 'z') return sign - 'a' + 26;
  if (sign >= '0' && sign <= '9') return sign - '0' + 52;
  if (sign == '+' || sign == '-') return 62;
  if (sign == '/' || sign == '_') return 63;
  return -1;
}

/* Decodes all of a text to `out`, which has room for three quarters of it. 0: it isn't Base64. */
static size_t decode(sf_str text, uint8_t *out) {
  size_t length = 0, digits = 0, padding = 0;
  uint32_t bits = 0;
  for (size_t at = 0; at < text.len; at++) {
    uint8_t sign = text.ptr[at];
    if (sign == '\n' || sign == '\r') continue;
    if (sign == '=') {
      padding++;
      continue;
    }
    int value = digit(sign);
    if (value < 0 || padding > 0) return 0;
    bits = bits << 6 | (uint32_t)value;
    if (++digits % 4 == 0) {
      out[length++] = (uint8_t)(bits >> 16);
      out[length++] = (uint8_t)(bits >> 8);
      out[length++] = (uint8_t)bits;
    }
  }
  if (padding > 2 || (digits + padding) % 4 != 0) return 0;
  if (digits % 4 == 3) {
    out[length++] = (uint8_t)(bits >> 10);
    out[length++] = (uint8_t)(bits >> 2);
  } else if (digits % 4 == 2) {
    out[length++] = (uint8_t)(bits >> 4);
  } else if (digits % 4 == 1) {
    return 0;
  }
  return length;
}

/* Whether bytes are UTF-8 that a person can read. */
static int is_text(const uint8_t *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) {
    uint8_t byte = bytes[at];
    if (byte >= 0x80) {
      size_t more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc2 ? 1 : 9;
      if (byte > 0xf4 || more >= length - at) return 0;
      /* Overlong forms, surrogates and what is beyond Unicode. */
      uint8_t next = bytes[at + 1];
      if ((byte == 0xe0 && next < 0xa0) || (byte == 0xed && next > 0x9f) || (byte == 0xf0 && next < 0x90) ||
          (byte == 0xf4 && next > 0x8f)) {
        return 0;
      }
      for (; more > 0; more--) {
        if ((bytes[++at] & 0xc0) != 0x80) return 0;
      }
    } else if (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') {
      return 0;
    }
  }
  return 1;
}

static uint32_t number(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* What kind of file bytes are. */
static void describe(const uint8_t *bytes, size_t length, char *out, size_t room) {
  static const struct {
    const char *magic;
    size_t length;
    const char *name;
  } kinds[] = {
      {"\xff\xd8\xff", 3, "JPEG"}, {"GIF8", 4, "GIF"},         {"%PDF-", 5, "PDF"},      {"PK\x03\x04", 4, "ZIP"},
      {"\x1f\x8b", 2, "gzip"},     {"\x7f" "ELF", 4, "ELF"},   {"\x28\xb5\x2f\xfd", 4, "Zstandard"},
      {"SQLite format 3", 15, "SQLite database"},
  };
  const char *name = "binary data";
  if (length >= 24 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) {
    snprintf(out, room, "PNG, %u × %u, %zu bytes", number(bytes + 16), number(bytes + 20), length);
    return;
  }
  for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++) {
    if (length >= kinds[at].length && memcmp(bytes, kinds[at].magic, kinds[at].length) == 0) name = kinds[at].name;
  }
  snprintf(out, room, "%s, %zu bytes", name, length);
}

/* The first bytes, sixteen a line. */
static size_t dump(const uint8_t *bytes, size_t length, char *out, size_t room) {
  size_t end = 0, shown = length < DUMPED ? length : DUMPED;
  for (size_t line = 0; line < shown; line += 16) {
    end += (size_t)snprintf(out + end, room - end, "%04zx ", line);
    for (size_t at = line; at < line + 16; at++) {
      end += (size_t)(at < shown ? snprintf(out + end, room - end, " %02x", bytes[at]) : snprintf(out + end, room - end, "   "));
    }
    out[end++] = ' ';
    out[end++] = ' ';
    for (size_t at = line; at < line + 16 && at < shown; at++) {
      out[end++] = bytes[at] >= 0x20 && bytes[at] < 0x7f ? (char)bytes[at] : '.';
    }
    out[end++] = '\n';
  }
  return end;
}

static void *create(const sf_host *host, sf_str options) {
  (void)options;
  const sf_host **instance = malloc(sizeof *instance);
  if (instance) *instance = host;
  return instance;
}

static void destroy(void *instance) { free(instance); }

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  const sf_host *host = *(const sf_host **)instance;
  static const char *const inputs[] = {"/input/data", "/input/payload", "/input/content", "/input/blob"};
  sf_str kind, text = {0, 0};
  double partial;
  if (host->item_num(item, sf_text("/partial"), &partial) == SF_OK) return SF_PASS;
  if (host->item_str(item, sf_text("/kind"), &kind) != SF_OK) return SF_FAILED;
  int is_call = sf_is(kind, "call");
  if (is_call) {
    for (size_t at = 0; at < sizeof inputs / sizeof inputs[0]; at++) {
      if (host->item_str(item, sf_text(inputs[at]), &text) == SF_OK) break;
      text.len = 0;
    }
  } else if (host->item_str(item, sf_text("/text"), &text) != SF_OK) {
    return SF_PASS;
  }
  if (text.len < SHORTEST || text.len > LARGEST) return SF_PASS;
  uint8_t *bytes = malloc(text.len / 4 * 3 + 3);
  if (!bytes) {
    host->log(SF_LOG_ERROR, sf_text("out of memory"));
    return SF_FAILED;
  }
  size_t length = decode(text, bytes);
  if (length == 0) {
    free(bytes);
    return SF_PASS;
  }
  char line[80], dumped[DUMPED / 16 * 96];
  sf_str shown = {bytes, length}, role = is_call ? sf_text("call.input") : sf_text("result.text");
  int is_readable = is_text(bytes, length);
  if (is_readable) {
    snprintf(line, sizeof line, "Base64 of text, %zu bytes", length);
  } else {
    size_t end = (size_t)snprintf(line, sizeof line, "Base64 of ");
    describe(bytes, length, line + end, sizeof line - end);
    shown = (sf_str){(const uint8_t *)dumped, dump(bytes, length, dumped, sizeof dumped)};
  }
  if (host->sink_default(sink) == SF_OK) {
    host->sink_clear(sink, is_call ? SF_BODY : SF_TITLE | SF_BODY);
  }
  if (is_call) host->sink_span(sink, sf_text(" "), sf_text("text"));
  host->sink_span(sink, sf_text(line), sf_text("result.note"));
  host->sink_code(sink, shown, sf_text(""), role);
  free(bytes);
  return SF_SHOW;
}

static const sf_plugin table = {
    .size = sizeof table,
    .minor = SF_MINOR,
    .name = SF_STR("base64"),
    .version = SF_STR("0.1.0"),
    .formats = SF_STR("[\"mcp__*\"]"),
    .create = create,
    .destroy = destroy,
    .format = format,
};

const sf_plugin *streamfmt_plugin_v1(const sf_host *host) {
  (void)host;
  return &table;
}
