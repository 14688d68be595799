/* streamfmt_plugin.h: native plugins for streamfmt, version 1 of the interface.
 *
 * A plugin is a shared library that exports one function:
 *
 *     const sf_plugin *streamfmt_plugin_v1(const sf_host *host);
 *
 * It returns a table that stays valid and unchanged for the life of the process. The version is in the function's name: version 2
 * would have another name, and a program that has only version 1 refuses such a library.
 *
 * Within version 1, structs only grow at the end. `size` is the size of the struct as its maker compiled it: read no field that
 * lies beyond it. `minor` counts the additions; `has` tells whether the host has one of them.
 *
 * Memory. Nothing that one side allocates is freed by the other. Text goes in as a borrowed sf_str, which is valid until the plugin's
 * function returns, and goes out through a sink, which copies it before it returns.
 *
 * Text is UTF-8 and doesn't end in a zero byte. An empty text may have a null pointer.
 *
 * Threads. An instance is called by one thread at a time, and not always by the same one. Different instances may be called at the
 * same time. Host functions that take an item or a sink may be called only on the thread that called the plugin and only until the
 * plugin's function returns.
 *
 * Failure. A function that returns a negative code, or gives the sink something that can't be used, has failed: streamfmt shows the
 * item as if the plugin weren't there, and reports the failure once. Text that was logged with SF_LOG_ERROR meanwhile is the reason. No
 * exception and no longjmp may leave a plugin's function.
 */
#ifndef STREAMFMT_PLUGIN_H
#define STREAMFMT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The minor version that this header describes. */
#define SF_MINOR 1u

/* Codes of host functions. */
#define SF_OK 0       /* done */
#define SF_ABSENT 1   /* there is no such value, or it has another type */
#define SF_INVALID -1 /* an argument can't be used: null, not UTF-8, not JSON, out of place */
#define SF_LIMIT -2   /* too much: stop here */

/* What `format` returns. Any negative code is a failure. */
#define SF_SHOW 0 /* show what is in the sink */
#define SF_PASS 1 /* leave the item to the next plugin */
#define SF_HIDE 2 /* show nothing; the item is counted as hidden */
#define SF_FAILED -1

/* Moments of a session. */
#define SF_BEGIN 0 /* the first item is about to come */
#define SF_END 1   /* the input has ended */

/* Parts of a view, for `sink_clear`. */
#define SF_TITLE 1
#define SF_BODY 2

/* Levels of `log`. */
#define SF_LOG_INFO 0  /* printed as the output of the plugin */
#define SF_LOG_ERROR 1 /* the reason, if the function fails; else as SF_LOG_INFO */

/* Text, borrowed. */
typedef struct sf_str {
  const uint8_t *ptr;
  size_t len;
} sf_str;

/* A text in quotes as a sf_str, for the fields of a static table. */
#define SF_STR(text) {(const uint8_t *)(text), sizeof(text) - 1}

/* A text that ends in a zero byte as a sf_str, for calls of functions. It is not copied. */
static inline sf_str sf_text(const char *text) {
  sf_str borrowed = {(const uint8_t *)text, strlen(text)};
  return borrowed;
}

/* Whether a text is this one. */
static inline int sf_is(sf_str text, const char *other) {
  size_t length = strlen(other);
  return text.len == length && (length == 0 || memcmp(text.ptr, other, length) == 0);
}

/* An item, and what the plugin says of it. Both belong to the host. */
typedef struct sf_item sf_item;
typedef struct sf_sink sf_sink;

/* What the host offers. Valid for the life of the process. */
typedef struct sf_host {
  uint32_t size;
  uint32_t minor;

  /* 1 if the host has this feature, else 0: "observe". */
  int32_t (*has)(sf_str feature);

  /* Logs one line. May be called whenever one of the plugin's functions runs, on its thread. */
  void (*log)(int32_t level, sf_str message);

  /* The item as JSON: one line of `streamfmt --to items` (docs/json.md), with "partial": true while it may still grow. */
  int32_t (*item_json)(const sf_item *item, sf_str *out);

  /* A text of the item by its place in that JSON, as a JSON pointer: "/tool", "/input/command", "/text", "/data/stdout",
   * "/input/edits/0/new_string". It costs much less than the whole item. */
  int32_t (*item_str)(const sf_item *item, sf_str pointer, sf_str *out);

  /* A number, likewise; true is 1 and false is 0: "/data/exit", "/line", "/partial". */
  int32_t (*item_num)(const sf_item *item, sf_str pointer, double *out);

  /* The call that this result answers; null if the item isn't a result or its call isn't known. */
  const sf_item *(*item_call)(const sf_item *item);

  /* What would be shown without this plugin, as JSON: {"mark":"…","title":[spans],"body":[blocks]}, in the form of `streamfmt --to json`.
   * SF_ABSENT: nothing. */
  int32_t (*item_default)(const sf_item *item, sf_str *out);

  /* Puts into the sink what would be shown without this plugin, in place of all that it holds. SF_ABSENT: nothing would be. */
  int32_t (*sink_default)(sf_sink *sink);

  /* Empties parts of the sink: SF_TITLE, SF_BODY, or both added. */
  int32_t (*sink_clear)(sf_sink *sink, int32_t parts);

  /* Adds text to the title. The role names its meaning, as "tool.name", "call.arg" or "result.note" (docs/roles.md). */
  int32_t (*sink_span)(sf_sink *sink, sf_str text, sf_str role);

  /* Adds a block of verbatim text. `lang` is a language or a file extension, or empty. */
  int32_t (*sink_code)(sf_sink *sink, sf_str text, sf_str lang, sf_str role);

  /* Adds blocks: a JSON list of them, or one. */
  int32_t (*sink_blocks)(sf_sink *sink, sf_str json);

  /* Puts a whole view into the sink, in the form of `item_default`, in place of all that it holds. */
  int32_t (*sink_view)(sf_sink *sink, sf_str json);
} sf_host;

/* What a plugin offers. */
typedef struct sf_plugin {
  uint32_t size;
  uint32_t minor;
  sf_str name;
  sf_str version;

  /* What it formats, as a JSON list: names of tools and globs ("Bash", "mcp__github__*"), actions ("@edit"), both meaning calls and
   * their results, and kinds ("call", "result", "reply"). `format` gets no other items. */
  sf_str formats;

  /* Makes an instance for one output of one session. `options` is a JSON object, {} if none were chosen. Null: it refuses. */
  void *(*create)(const sf_host *host, sf_str options);

  /* Ends an instance. Nothing of it is called afterwards. */
  void (*destroy)(void *instance);

  /* Says what to show of an item: SF_SHOW, SF_PASS, SF_HIDE or a negative code. An item may be asked for again, and must get the same
   * answer. One that still grows has "partial": true and is asked for each time that it is shown. */
  int32_t (*format)(void *instance, const sf_item *item, sf_sink *sink);

  /* Is told SF_BEGIN and SF_END. `session` is a JSON object: agent, model, cwd, id, as far as they are known. What is put into the
   * sink is shown there. May be null. */
  int32_t (*session)(void *instance, int32_t moment, sf_str session, sf_sink *sink);

  /* Since minor version 1. */

  /* What it observes, as `formats`; may be empty. */
  sf_str observes;

  /* Is told each whole item of those once, in the order of the stream, whether it is shown or not: keep state here. Blocks that are
   * put into the sink are shown after the item. May be null. */
  int32_t (*observe)(void *instance, const sf_item *item, sf_sink *sink);
} sf_plugin;

#if defined(_WIN32)
#define SF_EXPORT __declspec(dllexport)
#else
#define SF_EXPORT __attribute__((visibility("default")))
#endif

SF_EXPORT const sf_plugin *streamfmt_plugin_v1(const sf_host *host);

#ifdef __cplusplus
}
#endif

#endif
