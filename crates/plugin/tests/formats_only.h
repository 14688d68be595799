/* What plugins of tests share that keep nothing and have no function but `format`: the host, the instance and the table. Whoever includes
 * this defines PLUGIN_NAME and PLUGIN_FORMATS before, and `format` after it. */
#include "streamfmt_plugin.h"

static const sf_host *host;

static void *create(const sf_host *the_host, sf_str options) {
  (void)options;
  host = the_host;
  return &host;
}

static void destroy(void *instance) { (void)instance; }

static int32_t format(void *instance, const sf_item *item, sf_sink *sink);

#ifndef HAS_OTHER_TABLE
static const sf_plugin table = {
    .size = sizeof table,
    .minor = SF_MINOR,
    .name = SF_STR(PLUGIN_NAME),
    .formats = SF_STR(PLUGIN_FORMATS),
    .create = create,
    .destroy = destroy,
    .format = format,
};

const sf_plugin *streamfmt_plugin_v1(const sf_host *the_host) {
  (void)the_host;
  return &table;
}
#endif
