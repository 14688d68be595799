/* A plugin for the fuzzer: a call's input has bytes in hexadecimal digits. The first chooses what is done with the rest, which is passed on
 * as it is. The code that it returns is in the second. */
#include <stdlib.h>

#define PLUGIN_NAME "echo"
#define PLUGIN_FORMATS "[\"call\"]"
#include "formats_only.h"

static unsigned digit(uint8_t sign) { return sign <= '9' ? sign - '0' : sign - 'a' + 10; }

static int32_t format(void *instance, const sf_item *item, sf_sink *sink) {
  sf_str hex, got;
  double number;
  (void)instance;
  if (host->item_str(item, sf_text("/input/hex"), &hex) != SF_OK || hex.len < 4) return SF_PASS;
  size_t length = hex.len / 2;
  uint8_t *bytes = malloc(length);
  if (!bytes) return SF_FAILED;
  for (size_t at = 0; at < length; at++) bytes[at] = (uint8_t)(digit(hex.ptr[2 * at]) << 4 | digit(hex.ptr[2 * at + 1]));
  int32_t code = (int8_t)bytes[1];
  sf_str rest = {bytes + 2, length - 2};
  switch (bytes[0] % 10) {
    case 0: host->sink_span(sink, rest, sf_text("text")); break;
    case 1: host->sink_span(sink, sf_text("x"), rest); break;
    case 2: host->sink_code(sink, rest, sf_text("sh"), sf_text("text")); break;
    case 3: host->sink_code(sink, sf_text("x"), rest, rest); break;
    case 4: host->sink_blocks(sink, rest); break;
    case 5: host->sink_view(sink, rest); break;
    case 6:
      if (host->item_str(item, rest, &got) == SF_OK) host->sink_span(sink, got, sf_text("text"));
      if (host->item_num(item, rest, &number) == SF_OK) host->sink_span(sink, sf_text("number"), sf_text("text"));
      break;
    case 7:
      host->log(code & 1, rest);
      host->has(rest);
      break;
    case 8:
      host->sink_default(sink);
      host->sink_clear(sink, code);
      host->sink_span(sink, rest, sf_text("text"));
      break;
    default:
      if (host->item_default(item, &got) == SF_OK) host->sink_view(sink, got);
      if (host->item_json(item, &got) == SF_OK) host->sink_code(sink, got, sf_text("json"), sf_text("text"));
      if (host->item_call(item)) code = SF_FAILED;
  }
  free(bytes);
  return code;
}
