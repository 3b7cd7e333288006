/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - what each boot said of itself when it was asked (/server_info), ten minutes into its life */
#include "model.h"

#include <errno.h>
#include <sys/stat.h>

static void folder(struct model *m, const char *name)
{
	char full[4096];

	if (m->rc)
		return;
	snprintf(full, sizeof(full), "%s/%s", m->options->dir, name);
	if (mkdir(full, 0777) && errno != EEXIST) {
		model_fail(m, err_set_errno(m->err, ERR_IO, "cannot make the folder"));
		err_where(m->err, "%s", full);
	}
}

static void snapshot(struct model *m, const struct boot *b, struct buf *out)
{
	const struct worker *k = &m->worker[b->worker];
	const char *mode = k->role == ROLE_PREFILL ? "prefill" : k->role == ROLE_DECODE ? "decode" : "null";
	char at[32];

	us_iso_ms(b->started_us + 600 * US_PER_S, at);
	buf_clear(out);
	model_fail(
	    m, buf_printf(
		   out, m->err,
		   "{\n    \"collected_at\": \"%s\",\n    \"model_path\": \"%s\",\n    \"tokenizer_path\": \"%s\",\n"
		   "    \"load_format\": \"auto\",\n    \"trust_remote_code\": true,\n    \"context_length\": %lld,\n"
		   "    \"host\": \"%s\",\n    \"port\": %d,\n    \"dtype\": \"auto\",\n    \"kv_cache_dtype\": "
		   "\"auto\",\n"
		   "    \"mem_fraction_static\": 0.86,\n    \"max_running_requests\": 256,\n    \"max_total_tokens\": "
		   "null,\n"
		   "    \"chunked_prefill_size\": 65536,\n    \"max_prefill_tokens\": 131072,\n    \"page_size\": %d,\n"
		   "    \"device\": \"cuda\",\n    \"tp_size\": %d,\n    \"pp_size\": 1,\n    \"dp_size\": 1,\n",
		   at, model_path(k->model), model_path(k->model), (long long)b->context_len, LISTEN_HOST, k->port,
		   PAGE_TOKENS, RANKS));
	if (m->rc)
		return;
	model_fail(
	    m,
	    buf_printf(out, m->err,
		       "    \"served_model_name\": \"%s\",\n    \"disable_radix_cache\": %s,\n    "
		       "\"allow_auto_truncate\": %s,\n"
		       "    \"disaggregation_mode\": \"%s\",\n    \"disaggregation_transfer_backend\": \"mooncake\",\n"
		       "    \"disaggregation_bootstrap_port\": 8998,\n    \"status\": \"ready\",\n"
		       "    \"max_total_num_tokens\": %lld,\n    \"max_req_input_len\": %lld,\n"
		       "    \"internal_states\": [\n        {\n            \"last_gen_throughput\": 0.0,\n"
		       "            \"memory_usage\": {\n                \"weight\": 61.2,\n                "
		       "\"kvcache\": 58.8,\n"
		       "                \"token_capacity\": %lld\n            }\n        }\n    ],\n    \"version\": "
		       "\"%s\"\n}\n",
		       model_served(k->model), k->radix ? "false" : "true", b->truncate ? "true" : "false", mode,
		       (long long)b->pool_tokens, (long long)b->input_limit, (long long)b->pool_tokens, b->version));
}

void snapshots_write(struct model *m)
{
	struct buf out = BUF_INIT(MIB);

	folder(m, "logs/server_info");
	for (size_t i = 0; i < m->n_boots && !m->rc; i++) {
		const struct boot *b = &m->boots[i];
		char at[20], path[128];

		us_plain(b->started_us + 600 * US_PER_S, at);
		snprintf(path, sizeof(path), "logs/server_info/%.10s", at);
		folder(m, path);
		snprintf(path, sizeof(path), "logs/server_info/%.10s/%s.json", at, m->worker[b->worker].name);
		snapshot(m, b, &out);
		lines_file(m, path, buf_text(&out));
	}
	buf_done(&out);
}
