/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.c - format prometheus: what a running engine's /metrics says of its pool (text exposition, OpenMetrics, /federate)
 *
 * Read are, and all else is context:
 *   vllm:cache_config_info{block_size,num_gpu_blocks,kv_cache_size_tokens,sliding_window,mamba_block_size,engine} (vLLM
 *     v1/metrics/loggers.py; kv_cache_size_tokens since 2026-06, b7f9b6ab27). Without that label the pool is blocks times block
 *     size, which holds where all layers keep all tokens: not said where a window or a state size is set, nor is the page.
 *   sglang:max_total_num_tokens, sglang:page_size, sglang:context_len (SGLang srt/observability/metrics_collector.py,
 *     SchedulerMetricsCollector; the last two since 0.5.11), page_size in sglang:cache_config_info before. All ranks of one
 *     data-parallel rank have one pool: the smallest is taken where they differ.
 * model_name and engine_type (SGLang: prefill, decode, unified) are labels. What is scraped of many has `pod` or `instance`.
 * Neither engine tells its version here.
 */
#include <stdio.h>

#include "installed.h"

enum { GROUPS_MAX = 512, WORKER_MAX = NAME_MAX_BYTES + 32, RANKS_MAX = 4096 };

enum engine { ENGINE_SGLANG, ENGINE_VLLM };

struct labels {
	struct text worker, rank, model, role;
	struct text block_size, blocks, tokens, window, state_size, page_size;
};

/* One engine of one scraped process, or one rank of it. */
struct group {
	enum engine engine;
	struct text worker, rank, model, role;
	struct stamp at;
	int64_t pool, page_size, context;
	bool models_differ;
};

struct scrape {
	struct parse *p;
	struct group *groups;
	unsigned n;
	bool full;
};

/* --- one line: name{key="value",…} value time --- */

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

static struct text cut_name(struct text *rest)
{
	size_t n = 0;

	while (n < rest->len && name_char(rest->ptr[n]))
		n++;
	struct text name = text_sub(*rest, 0, n);
	*rest = text_from(*rest, n);
	return name;
}

/* In quotes, with \\, \" and \n inside. false: it does not end. */
static bool cut_quoted(struct arena *a, struct text *rest, struct text *ret)
{
	size_t end = 1, n = 0;
	char *to;

	if (!rest->len || rest->ptr[0] != '"')
		return false;
	while (end < rest->len && rest->ptr[end] != '"')
		end += rest->ptr[end] == '\\' ? 2 : 1;
	if (end >= rest->len)
		return false;
	*ret = text_sub(*rest, 1, end - 1);
	*rest = text_from(*rest, end + 1);
	if (text_find_char(*ret, '\\', 0) == SIZE_MAX)
		return true;
	to = arena_room(a, ret->len);
	if (!to)
		return false;
	for (size_t i = 0; i < ret->len; i++) {
		bool escape = ret->ptr[i] == '\\' && i + 1 < ret->len;
		i += escape;
		to[n++] = (char)(escape && ret->ptr[i] == 'n' ? '\n' : ret->ptr[i]);
	}
	*ret = (struct text){to, n};
	return true;
}

static void set_label(struct labels *l, enum engine engine, struct text key, struct text value)
{
	const struct {
		const char *key;
		struct text *to;
	} known[] = {{engine == ENGINE_VLLM ? "engine" : "dp_rank", &l->rank},
		     {"model_name", &l->model},
		     {"engine_type", &l->role},
		     {"block_size", &l->block_size},
		     {"num_gpu_blocks", &l->blocks},
		     {"kv_cache_size_tokens", &l->tokens},
		     {"sliding_window", &l->window},
		     {"mamba_block_size", &l->state_size},
		     {"page_size", &l->page_size},
		     {"pod", &l->worker}};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_is(key, known[i].key))
			*known[i].to = value;
	if (text_is(key, "instance") && !l->worker.len)
		l->worker = value;
}

/* false: it is no sample, or one that was cut. */
static bool read_sample(struct arena *a, struct text line, enum engine engine, struct labels *l, struct text *value,
			struct text *time)
{
	struct text key, quoted;

	(void)cut_name(&line);
	*l = (struct labels){0};
	if (text_starts(line, "{")) {
		line = text_from(line, 1);
		while (line.len && line.ptr[0] != '}') {
			key = cut_name(&line);
			if (!key.len || !text_starts(line, "="))
				return false;
			line = text_from(line, 1);
			if (!cut_quoted(a, &line, &quoted))
				return false;
			set_label(l, engine, key, quoted);
			while (line.len && (line.ptr[0] == ',' || line.ptr[0] == ' '))
				line = text_from(line, 1);
		}
		if (!line.len)
			return false;
		line = text_from(line, 1);
	} else if (!text_starts(line, " ")) {
		return false;
	}
	line = text_trim(line);
	size_t blank = text_find_char(line, ' ', 0);
	*value = text_sub(line, 0, blank);
	*time = blank == SIZE_MAX ? (struct text){0} : text_trim(text_from(line, blank));
	return value->len > 0;
}

/* --- what is kept --- */

static int64_t count_of(struct text digits)
{
	int64_t n;

	return text_int64(digits, &n) && n > 0 && n <= TOKENS_MAX ? n : 0;
}

/* "681280.0", "6.8128e+05"; 0: not a whole number of tokens. */
static int64_t whole(struct text value)
{
	double d;

	if (!text_double(value, &d) || !(d >= 1 && d <= (double)TOKENS_MAX) || d != (double)(int64_t)d)
		return 0;
	return (int64_t)d;
}

static struct group *group_of(struct scrape *s, enum engine engine, const struct labels *l, struct text time)
{
	struct group *g;

	for (unsigned i = 0; i < s->n; i++) {
		g = &s->groups[i];
		if (g->engine == engine && text_eq(g->worker, l->worker) && text_eq(g->rank, l->rank))
			return g;
	}
	if (s->n == GROUPS_MAX) {
		s->full = true;
		return NULL;
	}
	g = &s->groups[s->n++];
	*g = (struct group){.engine = engine, .worker = l->worker, .rank = l->rank, .at = STAMP_INIT};
	if (!stamp_parse_epoch(time, &g->at) || g->at.quality != STAMP_ZONED)
		g->at = STAMP_INIT;
	return g;
}

static void keep_least(int64_t *to, int64_t v)
{
	if (v && (!*to || v < *to))
		*to = v;
}

/* All layers keep all tokens, in blocks of the size that was asked for: no window, no blocks of a state. */
static bool vllm_plain(const struct labels *l)
{
	return (!l->window.len || text_is(l->window, "None")) && (!l->state_size.len || text_is(l->state_size, "None"));
}

static int64_t vllm_pool(const struct labels *l)
{
	int64_t said = count_of(l->tokens), blocks = count_of(l->blocks), size = count_of(l->block_size);

	if (said || !vllm_plain(l) || !blocks || !size || size > TOKENS_MAX / blocks)
		return said;
	return blocks * size;
}

static void keep_model(struct group *g, const struct labels *l)
{
	if (l->model.len && g->model.len && !text_eq(l->model, g->model))
		g->models_differ = true;
	if (!g->model.len)
		g->model = l->model;
	if (text_is(l->role, "prefill") || text_is(l->role, "decode") || text_is(l->role, "unified"))
		g->role = l->role;
}

static void take_sample(struct scrape *s, struct text line, enum engine engine)
{
	struct text rest = line, name = cut_name(&rest), value, time;
	struct labels l;
	struct group *g;
	bool config = text_ends(name, ":cache_config_info");
	int64_t n;

	name = text_from(name, text_find_char(name, ':', 0) + 1);
	bool ours = config || (engine == ENGINE_SGLANG && (text_is(name, "max_total_num_tokens") ||
							   text_is(name, "page_size") || text_is(name, "context_len")));
	if (!ours && text_find(line, "model_name=", 0) == SIZE_MAX)
		return;
	if (!read_sample(&s->p->scratch, line, engine, &l, &value, &time))
		return;
	if (!ours) /* a model's name is that of the process */
		l.rank = (struct text){0};
	g = group_of(s, engine, &l, time);
	if (!g)
		return;
	keep_model(g, &l);
	n = whole(value);
	if (config && engine == ENGINE_VLLM) {
		keep_least(&g->pool, vllm_pool(&l));
		keep_least(&g->page_size, vllm_plain(&l) ? count_of(l.block_size) : 0);
	} else if (config) {
		keep_least(&g->page_size, count_of(l.page_size));
	} else if (text_is(name, "max_total_num_tokens")) {
		keep_least(&g->pool, n);
	} else if (text_is(name, "page_size")) {
		keep_least(&g->page_size, n);
	} else if (text_is(name, "context_len")) {
		keep_least(&g->context, n);
	}
}

/* --- events --- */

static bool has_numbers(const struct group *g)
{
	return g->pool || g->page_size || g->context;
}

/* The group without a rank of the same process, which has the model's name. */
static const struct group *process_of(const struct scrape *s, const struct group *g)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!s->groups[i].rank.len && s->groups[i].engine == g->engine &&
		    text_eq(s->groups[i].worker, g->worker))
			return &s->groups[i];
	return NULL;
}

static unsigned ranks_of(const struct scrape *s, const struct group *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		n += s->groups[i].engine == g->engine && text_eq(s->groups[i].worker, g->worker) &&
		     has_numbers(&s->groups[i]);
	return n;
}

static int emit(struct scrape *s, const struct group *g, struct stamp at)
{
	struct event *e = parse_begin(s->p, EVENT_BOOT, at.ns != TIME_UNKNOWN ? at : g->at);
	const struct group *process = process_of(s, g), *named = g->model.len || !process ? g : process;
	struct text worker = g->worker;
	char name[WORKER_MAX];
	int64_t rank;

	while (worker.len && worker.ptr[0] == '/')
		worker = text_from(worker, 1);
	if (ranks_of(s, g) > 1 && text_int64(g->rank, &rank) && rank >= 0 && rank < RANKS_MAX) {
		int n = snprintf(name, sizeof(name), "%.*s/dp%d", (int)MIN(worker.len, (size_t)NAME_MAX_BYTES - 16),
				 worker.len ? worker.ptr : "", (int)rank);
		worker = (struct text){name, (size_t)n};
	}
	if (worker.len)
		event_worker(e, worker);
	event_text(e, BOOT_WHAT, TEXT("snapshot"));
	event_text(e, BOOT_ENGINE, g->engine == ENGINE_VLLM ? TEXT("vllm") : TEXT("sglang"));
	if (!named->models_differ)
		event_text(e, BOOT_MODEL, named->model);
	event_text(e, BOOT_ROLE, g->role);
	if (g->pool)
		event_int(e, BOOT_POOL, g->pool);
	if (g->page_size)
		event_int(e, BOOT_PAGE_SIZE, g->page_size);
	if (g->context)
		event_int(e, BOOT_CONTEXT, g->context);
	return parse_emit(s->p);
}

/* Which engine's sample a line is. */
static bool is_engine(struct text line, enum engine *ret)
{
	*ret = text_starts(line, "vllm:") ? ENGINE_VLLM : ENGINE_SGLANG;
	return *ret == ENGINE_VLLM || text_starts(line, "sglang:");
}

/* What a collector wrote in front; texts of "# HELP" are not his. */
static struct stamp header_time(struct text document)
{
	struct stamp at = STAMP_INIT;
	size_t help = text_find(document, "# HELP ", 0), type = text_find(document, "# TYPE ", 0);

	(void)collected_header(text_sub(document, 0, MIN(help, type)), &at);
	return at;
}

static int record(struct parse *p, struct text record)
{
	struct scrape s = {.p = p, .groups = arena_array(&p->scratch, GROUPS_MAX, sizeof(struct group))};
	struct stamp at = header_time(record);
	struct text rest = record, line;
	enum engine engine;
	unsigned found = 0;

	if (!s.groups)
		return err_nomem(p->err);
	while (text_split(&rest, '\n', &line) && !s.full)
		if (is_engine(line, &engine))
			take_sample(&s, text_chomp(line), engine);
	if (s.full)
		return parse_refuse(p, "too_many_engines");
	for (unsigned i = 0; i < s.n; i++) {
		const struct group *g = &s.groups[i];
		if (!has_numbers(g) && (!g->model.len || ranks_of(&s, g)))
			continue;
		int r = emit(&s, g, at);
		if (r < 0)
			return r;
		found++;
	}
	return found ? RECORD_PARSED : RECORD_CONTEXT;
}

/* "# TYPE name gauge" */
static bool is_type(struct text line)
{
	static const char *const types[] = {"counter", "gauge", "histogram", "summary",       "untyped",
					    "unknown", "info",  "stateset",  "gaugehistogram"};
	if (!text_starts(line, "# TYPE "))
		return false;
	line = text_trim(text_from(line, 7));
	size_t blank = text_rfind_char(line, ' ');
	struct text type = blank == SIZE_MAX ? line : text_from(line, blank + 1), name = line;
	(void)cut_name(&name);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_is(type, types[i]))
			return name.len < line.len && name.ptr[0] == ' ';
	return false;
}

/* The first lines are comments and then a sample, and a "# TYPE" or an engine's metric is among them. */
static enum bid bid(struct parse *p, struct text record)
{
	struct text rest = record, line, value, time;
	struct labels l;
	enum engine engine;
	bool typed = false;

	while (text_split(&rest, '\n', &line)) {
		line = text_trim(line);
		typed = typed || is_type(line);
		if (!line.len || line.ptr[0] == '#')
			continue;
		if (!name_char(line.ptr[0]) || !read_sample(&p->scratch, line, ENGINE_VLLM, &l, &value, &time))
			return BID_NO;
		double d;
		bool number =
		    text_double(value, &d) || text_is(value, "NaN") || text_is(value, "+Inf") || text_is(value, "-Inf");
		return number && (typed || is_engine(line, &engine)) ? BID_STRONG : BID_NO;
	}
	return BID_NO;
}

const struct parser parser_prometheus = {
    .name = "prometheus",
    .summary = "/metrics of a running vLLM or SGLang (Prometheus text): its pool, page size, model",
    .checked = "SGLang metrics_collector.py as of 0.5.11; vLLM output with and without kv_cache_size_tokens",
    .shape = SHAPE_DOCUMENT,
    .emits = 1u << EVENT_BOOT,
    .bid = bid,
    .record = record,
};
