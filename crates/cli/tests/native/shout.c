/* A small plugin, whole: it puts a word before the title of each command and counts commands, replies and growing items. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streamfmt_plugin.h"

#ifndef SHOUTED
#define SHOUTED " SHOUTED"
#endif

typedef struct {
  const sf_host *host;
  int calls;
} shout;

static void *create(const sf_host *host, sf_str options) {
  shout *self = calloc(1, sizeof *self);
  if (self) self->host = host;
  if (!sf_is(options, "{}")) host->log(SF_LOG_INFO, options);
  return self;
}

static void destroy(void *instance) { free(instance); }

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  const sf_host *host = ((shout *)instance)->host;
  sf_str command, kind;
  double partial;
  if (host->item_str(item, sf_text("/kind"), &kind) != SF_OK) return SF_FAILED;
  if (sf_is(kind, "result")) return SF_PASS;
  if (host->item_str(item, sf_text("/input/command"), &command) != SF_OK) return SF_PASS;
  if (command.len >= 6 && memcmp(command.ptr, "secret", 6) == 0) return SF_HIDE;
  if (host->sink_default(sink) != SF_OK) return SF_FAILED;
  if (host->item_num(item, sf_text("/partial"), &partial) == SF_OK) {
    host->sink_span(sink, sf_text(" GROWING"), sf_text("muted"));
  } else {
    host->sink_span(sink, sf_text(SHOUTED), sf_text("muted"));
    host->sink_code(sink, command, sf_text("sh"), sf_text("call.command"));
  }
  return SF_SHOW;
}

static int32_t session(void *instance, int32_t moment, sf_str facts, sf_sink *sink) {
  shout *self = instance;
  char line[64];
  (void)facts;
  if (moment == SF_BEGIN) {
    self->host->sink_span(sink, sf_text("the shouting begins"), sf_text("muted"));
  } else {
    snprintf(line, sizeof line, "%d shouts", self->calls);
    self->host->sink_span(sink, sf_text(line), sf_text("muted"));
  }
  return SF_OK;
}

static int32_t observe(void *instance, const sf_item *item, sf_sink *sink) {
  (void)item;
  (void)sink;
  ((shout *)instance)->calls += 1;
  return SF_OK;
}

static const sf_plugin table = {
    .size = sizeof table,
    .minor = SF_MINOR,
    .name = SF_STR("shout"),
    .version = SF_STR("1.0"),
    .formats = SF_STR("[\"@run\",\"Bash\"]"),
    .create = create,
    .destroy = destroy,
    .format = format,
    .session = session,
    .observes = SF_STR("[\"call\"]"),
    .observe = observe,
};

const sf_plugin *streamfmt_plugin_v1(const sf_host *host) {
  return host->size < offsetof(sf_host, sink_view) + sizeof host->sink_view ? NULL : &table;
}
