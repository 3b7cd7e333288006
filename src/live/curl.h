/* SPDX-License-Identifier: Apache-2.0 */
/* curl.h - libcurl, which is loaded when a connection is asked for, and not before
 *
 * Two verbs of many open connections. The others, which read evidence, have nothing in their process that could; and start in half
 * the time, most of which went into loading libcurl and what it brings.
 */
#ifndef LIVE_CURL_H
#define LIVE_CURL_H

#define CURL_DISABLE_TYPECHECK /* its checks are of the functions' own names */
#include <curl/curl.h>

#include "pagetrail/err.h"

#define CURL_CALLS(X)          \
	X(easy_cleanup)        \
	X(easy_getinfo)        \
	X(easy_init)           \
	X(easy_setopt)         \
	X(easy_strerror)       \
	X(free)                \
	X(global_init)         \
	X(multi_add_handle)    \
	X(multi_cleanup)       \
	X(multi_info_read)     \
	X(multi_init)          \
	X(multi_perform)       \
	X(multi_poll)          \
	X(multi_remove_handle) \
	X(slist_append)        \
	X(slist_free_all)      \
	X(url)                 \
	X(url_cleanup)         \
	X(url_get)             \
	X(url_set)

struct curl_calls {
#define X(name) __typeof__(curl_##name) *name;
	CURL_CALLS(X)
#undef X
};

/* The calls of libcurl; null until curl_load() was 0. */
extern struct curl_calls curl;

/* Loads libcurl once; ERR_IO with the reason when this machine has none. One thread. */
int curl_load(struct err *err);

#endif
