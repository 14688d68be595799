/* Two plugins: WHOLE takes each call and result as JSON and returns a title and a block, the other reads two strings of each and passes. */
#define PLUGIN_NAME "pace"
#define PLUGIN_FORMATS "[\"call\",\"result\"]"
#include "formats_only.h"

static volatile size_t read_bytes;

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  sf_str text;
  (void)instance;
#ifdef WHOLE
  if (host->item_json(item, &text) != SF_OK) return SF_FAILED;
  read_bytes += text.len;
  host->sink_span(sink, sf_text("a title"), sf_text("tool.name"));
  host->sink_code(sink, sf_text("a block of\ntwo lines"), sf_text(""), sf_text("result.text"));
  return SF_SHOW;
#else
  (void)sink;
  if (host->item_str(item, sf_text("/tool"), &text) == SF_OK) read_bytes += text.len;
  if (host->item_str(item, sf_text("/input/command"), &text) == SF_OK) read_bytes += text.len;
  return SF_PASS;
#endif
}
