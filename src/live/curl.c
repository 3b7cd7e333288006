/* SPDX-License-Identifier: Apache-2.0 */
/* curl.c - libcurl, found while the program runs */
#include "curl.h"

#include <dlfcn.h>
#include <stdbool.h>

struct curl_calls curl;

int curl_load(struct err *err)
{
	static bool loaded;
	if (loaded)
		return 0;
	void *lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	bool ok = lib != NULL;
#define X(name) ok = ok && (*(void **)&curl.name = dlsym(lib, "curl_" #name)) != NULL;
	CURL_CALLS(X)
#undef X
	if (!ok) {
		err_set(err, ERR_IO, "libcurl, which opens connections, cannot be loaded: %s", dlerror());
		err_hint(err, "the package libcurl4 has it; everything but snapshot and probe works without");
		return ERR_IO;
	}
	if (curl.global_init(CURL_GLOBAL_DEFAULT))
		return err_nomem(err);
	loaded = true;
	return 0;
}
