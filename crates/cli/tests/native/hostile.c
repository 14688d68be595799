/* A plugin that misbehaves in one way, which the macro KIND names. */
#include <stdlib.h>
#include <string.h>

#include "streamfmt_plugin.h"

#define S(text) ((sf_str){(const uint8_t *)(text), sizeof(text) - 1})

#define NULL_TABLE 1
#define NULL_TEXT 2
#define BAD_UTF8 3
#define ABSURD_LENGTH 4
#define ERROR_CODE 5
#define UNKNOWN_CODE 6
#define INVALID_JSON 7
#define ENDLESS 8
#define REFUSES 9
#define BLANK 10
#define ABORTS 11
#define CRASHES 12
#define LOOPS 13
#define SMALL_TABLE 14
#define NO_FORMAT 15
#define BAD_GROUPS 16
#define BAD_NAME 17
#define NEWER_MAJOR 18
#define NEWER_MINOR 19
#define CHATTY 20
#define WRONG_TYPES 21
#define FLAKY 22

static const sf_host *host;

static void *create(const sf_host *the_host, sf_str options) {
  (void)options;
  host = the_host;
#if KIND == REFUSES
  host->log(SF_LOG_ERROR, S("there is no licence"));
  return 0;
#endif
  return &host;
}

static void destroy(void *instance) { (void)instance; }

#if KIND != NO_FORMAT
static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  (void)instance;
  (void)item;
  (void)sink;
#if KIND == NULL_TEXT
  host->sink_span(sink, (sf_str){0, 8}, S("text"));
#elif KIND == BAD_UTF8
  host->sink_span(sink, S("\xff\xfe"), S("text"));
#elif KIND == ABSURD_LENGTH
  host->sink_span(sink, (sf_str){(const uint8_t *)"x", (size_t)-1}, S("text"));
#elif KIND == ERROR_CODE
  return -7;
#elif KIND == UNKNOWN_CODE
  return 77;
#elif KIND == INVALID_JSON
  host->sink_blocks(sink, S("[{\"type\":"));
#elif KIND == WRONG_TYPES
  host->sink_blocks(sink, S("{\"type\":\"hologram\"}"));
#elif KIND == ENDLESS
  static char piece[1 << 16];
  memset(piece, 'x', sizeof piece);
  while (host->sink_code(sink, (sf_str){(const uint8_t *)piece, sizeof piece}, S(""), S("text")) == SF_OK) {
  }
#elif KIND == CHATTY
  host->log(SF_LOG_INFO, S("spam \x1b[2J\xff"));
  return SF_PASS;
#elif KIND == ABORTS
  abort();
#elif KIND == CRASHES
  *(volatile int *)8 = 1;
#elif KIND == LOOPS
  for (volatile int turn = 0;; turn = 1 - turn) {
  }
#elif KIND == NEWER_MINOR
  host->sink_span(sink, host->has(S("observe")) && !host->has(S("teleport")) ? S("made do") : S("wrong"), S("text"));
#elif KIND == FLAKY
  static int calls;
  if (++calls % 2) return -1;
  host->sink_span(sink, S("a good answer"), S("text"));
#endif
  return SF_SHOW;
}
#endif

/* A table as a later minor version might have it. */
typedef struct {
  sf_plugin now;
  void (*later)(void);
} later_plugin;

#if KIND == NEWER_MAJOR
const void *streamfmt_plugin_v2(const void *the_host) {
  static sf_plugin table;
  (void)the_host;
  table.create = create;
  table.destroy = destroy;
  table.format = format;
  return &table;
}
#else
const sf_plugin *streamfmt_plugin_v1(const sf_host *the_host) {
  static later_plugin table;
  (void)the_host;
#if KIND == NULL_TABLE
  return 0;
#endif
  table.now.size = sizeof(sf_plugin);
  table.now.minor = SF_MINOR;
  table.now.name = S("hostile");
  table.now.formats = S("[\"call\"]");
  table.now.create = create;
  table.now.destroy = destroy;
#if KIND == SMALL_TABLE
  table.now.size = 8;
#elif KIND == BAD_GROUPS
  table.now.formats = S("{\"call\":1}");
#elif KIND == BAD_NAME
  table.now.name = S("../x");
#elif KIND == NEWER_MINOR
  table.now.size = sizeof table;
  table.now.minor = 7;
#endif
#if KIND != NO_FORMAT
  table.now.format = format;
#endif
  return &table.now;
}
#endif
