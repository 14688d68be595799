/* Says WORD of each call, with the number of the instance and of the call that it was asked about. */
#include <stdio.h>
#include <stdlib.h>

#include "streamfmt_plugin.h"

typedef struct counts {
  const sf_host *host;
  int instance;
  int calls;
} counts;

static void *create(const sf_host *host, sf_str options) {
  static int instances;
  counts *self = malloc(sizeof *self);
  (void)options;
  if (self) *self = (counts){host, __atomic_add_fetch(&instances, 1, __ATOMIC_RELAXED), 0};
  return self;
}

static void destroy(void *instance) { free(instance); }

static int32_t observe(void *instance, const sf_item *item, sf_sink *sink) {
  (void)item;
  (void)sink;
  ((counts *)instance)->calls++;
  return SF_OK;
}

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  counts *self = instance;
  char line[64];
  (void)item;
  snprintf(line, sizeof line, "%s %d.%d", WORD, self->instance, self->calls);
  self->host->sink_span(sink, sf_text(line), sf_text("text"));
  return SF_SHOW;
}

static const sf_plugin table = {
    .size = sizeof table,
    .minor = SF_MINOR,
    .name = SF_STR(WORD),
    .formats = SF_STR("[\"call\"]"),
    .create = create,
    .destroy = destroy,
    .format = format,
    .observes = SF_STR("[\"call\"]"),
    .observe = observe,
};

const sf_plugin *streamfmt_plugin_v1(const sf_host *host) {
  (void)host;
  return &table;
}
