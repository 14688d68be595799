/* A small plugin, whole: it puts a word before the title of each command and counts commands, replies and growing items. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streamfmt_plugin.h"

#define S(text) ((sf_str){(const uint8_t *)(text), sizeof(text) - 1})

typedef struct {
  const sf_host *host;
  int calls;
} shout;

static sf_str text(const char *text) { return (sf_str){(const uint8_t *)text, strlen(text)}; }

static void *create(const sf_host *host, sf_str options) {
  shout *self = calloc(1, sizeof *self);
  if (self) self->host = host;
  if (options.len != 2 || memcmp(options.ptr, "{}", 2) != 0) host->log(SF_LOG_INFO, options);
  return self;
}

static void destroy(void *instance) { free(instance); }

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  const sf_host *host = ((shout *)instance)->host;
  sf_str command, kind;
  double partial;
  if (host->item_str(item, S("/kind"), &kind) != SF_OK) return SF_FAILED;
  if (kind.len == 6 && memcmp(kind.ptr, "result", 6) == 0) return SF_PASS;
  if (host->item_str(item, S("/input/command"), &command) != SF_OK) return SF_PASS;
  if (command.len >= 6 && memcmp(command.ptr, "secret", 6) == 0) return SF_HIDE;
  if (host->sink_default(sink) != SF_OK) return SF_FAILED;
  if (host->item_num(item, S("/partial"), &partial) == SF_OK) {
    host->sink_span(sink, S(" GROWING"), S("muted"));
  } else {
    host->sink_span(sink, S(" SHOUTED"), S("muted"));
    host->sink_code(sink, command, S("sh"), S("call.command"));
  }
  return SF_SHOW;
}

static int32_t session(void *instance, int32_t moment, sf_str facts, sf_sink *sink) {
  shout *self = instance;
  char line[64];
  (void)facts;
  if (moment == SF_BEGIN) {
    self->host->sink_span(sink, S("the shouting begins"), S("muted"));
  } else {
    snprintf(line, sizeof line, "%d shouts", self->calls);
    self->host->sink_span(sink, text(line), S("muted"));
  }
  return SF_OK;
}

static int32_t observe(void *instance, const sf_item *item, sf_sink *sink) {
  (void)item;
  (void)sink;
  ((shout *)instance)->calls += 1;
  return SF_OK;
}

const sf_plugin *streamfmt_plugin_v1(const sf_host *host) {
  static sf_plugin table;
  if (host->size < offsetof(sf_host, sink_view) + sizeof host->sink_view) return 0;
  table.size = sizeof table;
  table.minor = SF_MINOR;
  table.name = S("shout");
  table.version = S("1.0");
  table.formats = S("[\"@run\",\"Bash\"]");
  table.create = create;
  table.destroy = destroy;
  table.format = format;
  table.session = session;
  table.observes = S("[\"call\"]");
  table.observe = observe;
  return &table;
}
