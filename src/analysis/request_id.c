/* SPDX-License-Identifier: Apache-2.0 */
/* request_id.c - the same id of a request as engines, gateways and callers write it */
#include "request_id.h"

/* vLLM numbers the prompts of a completion: cmpl-ID-0. */
static struct text strip_index(struct text id)
{
	size_t dash = text_rfind_char(id, '-');
	if (dash == SIZE_MAX || dash == 0 || dash + 1 >= id.len || id.len - dash > 5)
		return id;
	for (size_t i = dash + 1; i < id.len; i++)
		if (id.ptr[i] < '0' || id.ptr[i] > '9')
			return id;
	return text_sub(id, 0, dash);
}

static bool hex_at(struct text t, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (!((t.ptr[i] >= '0' && t.ptr[i] <= '9') || (t.ptr[i] >= 'a' && t.ptr[i] <= 'f') || t.ptr[i] == '-'))
			return false;
	return true;
}

/* SGLang numbers the prompts of a call whose rid the caller gave: RID_0 (managers/io_struct.py, _normalize_rid). Other callers
 * end their own ids so, too; only one that is otherwise made up is taken for it. */
static struct text strip_number(struct text id)
{
	size_t line = text_rfind_char(id, '_');
	if ((line != 32 && line != 36) || line + 1 >= id.len || id.len - line > 5 || !hex_at(id, 0, line))
		return id;
	for (size_t i = line + 1; i < id.len; i++)
		if (id.ptr[i] < '0' || id.ptr[i] > '9')
			return id;
	return text_sub(id, 0, line);
}

const char *const id_prefixes[ID_PREFIXES] = {"chatcmpl-", "cmpl-", "resp_"};

struct text id_stem(struct text id)
{
	for (size_t i = 0; i < ID_PREFIXES; i++) {
		struct text rest = text_from(id, text_of(id_prefixes[i]).len);
		if (text_starts(id, id_prefixes[i]) && rest.len)
			return id_prefixes[i][1] == 'm' ? strip_index(rest) : rest;
	}
	return strip_number(id);
}

bool id_is_child(struct text rid)
{
	struct text rest = id_stem(rid);
	return rest.ptr + rest.len != rid.ptr + rid.len;
}
