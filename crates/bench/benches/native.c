/* Two plugins: WHOLE takes each call and result as JSON and returns a title and a block, the other reads two strings of each and passes. */
#include <stdlib.h>

#include "streamfmt_plugin.h"

#define S(text) ((sf_str){(const uint8_t *)(text), sizeof(text) - 1})

static const sf_host *host;
static volatile size_t read_bytes;

static void *create(const sf_host *the_host, sf_str options) {
  (void)options;
  host = the_host;
  return &host;
}

static void destroy(void *instance) { (void)instance; }

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  sf_str text;
  (void)instance;
#ifdef WHOLE
  if (host->item_json(item, &text) != SF_OK) return SF_FAILED;
  read_bytes += text.len;
  host->sink_span(sink, S("a title"), S("tool.name"));
  host->sink_code(sink, S("a block of\ntwo lines"), S(""), S("result.text"));
  return SF_SHOW;
#else
  (void)sink;
  if (host->item_str(item, S("/tool"), &text) == SF_OK) read_bytes += text.len;
  if (host->item_str(item, S("/input/command"), &text) == SF_OK) read_bytes += text.len;
  return SF_PASS;
#endif
}

const sf_plugin *streamfmt_plugin_v1(const sf_host *the_host) {
  static sf_plugin table;
  (void)the_host;
  table.size = sizeof table;
  table.minor = SF_MINOR;
  table.name = S("pace");
  table.formats = S("[\"call\",\"result\"]");
  table.create = create;
  table.destroy = destroy;
  table.format = format;
  return &table;
}
