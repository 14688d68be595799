/* A plugin that misbehaves in one way, which the macro KIND names. */
#include <stdlib.h>
#include <string.h>

/* The table is made here, since some have a wrong one. */
#define HAS_OTHER_TABLE
#include "formats_only.h"

enum {
  NULL_TABLE,
  SMALL_TABLE,
  NO_FORMAT,
  BAD_GROUPS,
  BAD_NAME,
  NEWER_MAJOR,
  NEWER_MINOR,
  REFUSES,
  NULL_TEXT,
  NULL_ARGUMENTS,
  BAD_UTF8,
  ABSURD_LENGTH,
  ERROR_CODE,
  UNKNOWN_CODE,
  INVALID_JSON,
  WRONG_TYPES,
  ENDLESS,
  ENDLESS_QUESTIONS,
  ENDLESS_LOG,
  BLANK,
  CHATTY,
  FLAKY,
  BAD_OBSERVER,
  BAD_BEGIN,
  ABORTS,
  CRASHES,
  LOOPS
};

static void *refuse(const sf_host *the_host, sf_str options) {
  (void)options;
  the_host->log(SF_LOG_ERROR, sf_text("there is no licence"));
  return NULL;
}

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  static char piece[1 << 16];
  static int calls;
  const sf_str nothing = {NULL, 8}, large = {(const uint8_t *)piece, sizeof piece};
  const sf_str absurd = {(const uint8_t *)piece, (size_t)-1};
  sf_str text;
  (void)instance;
  switch (KIND) {
    case NULL_TEXT: host->sink_span(sink, nothing, sf_text("text")); break;
    case NULL_ARGUMENTS: {
      double number;
      int is_refused = host->item_json(NULL, &text) < 0 && host->item_json(item, NULL) < 0 && host->item_default(item, NULL) < 0 &&
                       host->item_str(NULL, sf_text("/tool"), &text) < 0 && host->item_str(item, nothing, &text) < 0 &&
                       host->item_str(item, sf_text("/tool"), NULL) < 0 && host->item_str(item, absurd, &text) < 0 &&
                       host->item_num(item, sf_text("/line"), NULL) < 0 && host->item_num(NULL, sf_text("/line"), &number) < 0 &&
                       !host->item_call(NULL) && host->sink_default(NULL) < 0 && host->sink_clear(NULL, SF_BODY) < 0 &&
                       host->sink_span(NULL, sf_text("x"), sf_text("text")) < 0 && host->sink_view(NULL, sf_text("{}")) < 0 &&
                       host->sink_code(NULL, sf_text("x"), sf_text(""), sf_text("text")) < 0 &&
                       host->sink_blocks(NULL, sf_text("[]")) < 0 && !host->has(nothing) && !host->has(absurd);
      host->log(SF_LOG_INFO, nothing);
      host->log(SF_LOG_ERROR, sf_text(is_refused ? "all are refused" : "some are taken"));
      return SF_FAILED;
    }
    case BAD_UTF8: host->sink_span(sink, sf_text("\xff\xfe"), sf_text("text")); break;
    case ABSURD_LENGTH: host->sink_span(sink, absurd, sf_text("text")); break;
    case ERROR_CODE: return -7;
    case UNKNOWN_CODE: return 77;
    case INVALID_JSON: host->sink_blocks(sink, sf_text("[{\"type\":")); break;
    case WRONG_TYPES: host->sink_blocks(sink, sf_text("{\"type\":\"hologram\"}")); break;
    case ENDLESS:
      memset(piece, 'x', sizeof piece);
      while (host->sink_code(sink, large, sf_text(""), sf_text("text")) == SF_OK) {
      }
      break;
    case ENDLESS_QUESTIONS:
      while (host->item_str(item, sf_text("/does/command"), &text) == SF_OK) {
      }
      host->log(SF_LOG_ERROR, sf_text("no more answers"));
      return SF_FAILED;
    case ENDLESS_LOG:
      for (int line = 0; line < 100000; line++) host->log(SF_LOG_INFO, sf_text("spam"));
      return SF_PASS;
    case CHATTY: host->log(SF_LOG_INFO, sf_text("spam \x1b[2J\xff")); return SF_PASS;
    case FLAKY:
      if (++calls % 2) return SF_FAILED;
      host->sink_span(sink, sf_text("a good answer"), sf_text("text"));
      break;
    case NEWER_MINOR: {
      int makes_do = host->has(sf_text("observe")) && !host->has(sf_text("teleport"));
      host->sink_span(sink, sf_text(makes_do ? "made do" : "wrong"), sf_text("text"));
      break;
    }
    case BAD_OBSERVER:
    case BAD_BEGIN: return SF_PASS;
    case ABORTS: abort();
    case CRASHES: *(volatile int *)8 = 1; break;
    case LOOPS:
      for (volatile int turn = 0;; turn = 1 - turn) {
      }
    default: break;
  }
  return SF_SHOW;
}

static int32_t observe(void *instance, const sf_item *item, sf_sink *sink) {
  (void)instance;
  (void)item;
  host->sink_span(sink, sf_text("never shown"), sf_text("text"));
  return -9;
}

static int32_t session(void *instance, int32_t moment, sf_str facts, sf_sink *sink) {
  (void)instance;
  (void)facts;
  if (moment == SF_BEGIN) host->sink_view(sink, sf_text("{"));
  return SF_OK;
}

/* A table as a later minor version may have it. */
typedef struct later_plugin {
  sf_plugin now;
  void (*later)(void);
} later_plugin;

static const sf_plugin *table(void) {
  static later_plugin table = {
      .now = {.size = sizeof(sf_plugin),
              .minor = SF_MINOR,
              .name = SF_STR("hostile"),
              .formats = SF_STR("[\"call\"]"),
              .create = create,
              .destroy = destroy,
              .format = format},
  };
  switch (KIND) {
    case NULL_TABLE: return NULL;
    case SMALL_TABLE: table.now.size = 8; break;
    case NO_FORMAT: table.now.format = NULL; break;
    case BAD_GROUPS: table.now.formats = sf_text("{\"call\":1}"); break;
    case BAD_NAME: table.now.name = sf_text("../x"); break;
    case REFUSES: table.now.create = refuse; break;
    case NEWER_MINOR:
      table.now.size = sizeof table;
      table.now.minor = 7;
      break;
    case BAD_OBSERVER:
      table.now.observes = sf_text("[\"call\"]");
      table.now.observe = observe;
      break;
    case BAD_BEGIN: table.now.session = session; break;
    default: break;
  }
  return &table.now;
}

#ifdef NEXT_MAJOR
const sf_plugin *streamfmt_plugin_v2(const sf_host *the_host);
const sf_plugin *streamfmt_plugin_v2(const sf_host *the_host) {
#else
const sf_plugin *streamfmt_plugin_v1(const sf_host *the_host) {
#endif
  (void)the_host;
  return table();
}
