/* A plugin as it was compiled for minor version 0 of the interface. It has its own copy of the tables of that version, not the header,
 * and stays as it is: it must work for as long as there is version 1. */
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const uint8_t *ptr;
  size_t len;
} text;

typedef struct {
  uint32_t size;
  uint32_t minor;
  int32_t (*has)(text);
  void (*log)(int32_t, text);
  int32_t (*item_json)(const void *, text *);
  int32_t (*item_str)(const void *, text, text *);
  int32_t (*item_num)(const void *, text, double *);
  const void *(*item_call)(const void *);
  int32_t (*item_default)(const void *, text *);
  int32_t (*sink_default)(void *);
  int32_t (*sink_clear)(void *, int32_t);
  int32_t (*sink_span)(void *, text, text);
  int32_t (*sink_code)(void *, text, text, text);
  int32_t (*sink_blocks)(void *, text);
  int32_t (*sink_view)(void *, text);
} host_0;

typedef struct {
  uint32_t size;
  uint32_t minor;
  text name;
  text version;
  text formats;
  void *(*create)(const host_0 *, text);
  void (*destroy)(void *);
  int32_t (*format)(void *, const void *, void *);
  int32_t (*session)(void *, int32_t, text, void *);
} plugin_0;

#define T(string) ((text){(const uint8_t *)(string), sizeof(string) - 1})

static const host_0 *host;

static void *create(const host_0 *the_host, text options) {
  (void)options;
  host = the_host;
  return &host;
}

static void destroy(void *instance) { (void)instance; }

static int32_t format(void *instance, const void *item, void *sink) {
  text tool;
  (void)instance;
  if (host->item_str(item, T("/tool"), &tool) != 0) return 1;
  host->sink_span(sink, T("old: "), T("muted"));
  host->sink_span(sink, tool, T("tool.name"));
  return 0;
}

const plugin_0 *streamfmt_plugin_v1(const host_0 *the_host) {
  /* What lies behind the table must not be read. */
  static struct {
    plugin_0 table;
    const char *trap[4];
  } memory = {{sizeof(plugin_0), 0, {0, 0}, {0, 0}, {0, 0}, create, destroy, format, 0}, {"x", "x", "x", "x"}};
  (void)the_host;
  memory.table.name = T("old-table");
  memory.table.formats = T("[\"call\"]");
  return &memory.table;
}
