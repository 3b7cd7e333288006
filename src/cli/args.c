/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - command line arguments: options anywhere, each at most once (but --param), nothing guessed */
#include "cli.h"

#include <string.h>

static bool read_time(struct text t, int64_t *ret_ns)
{
	struct stamp s;
	size_t used;
	if (t.len == 10) { /* a bare day means its beginning */
		char day[24];
		snprintf(day, sizeof(day), "%.*sT00:00:00Z", TEXT_ARG(t));
		if (!stamp_parse_iso(text_of(day), &s, &used))
			return false;
	} else if (!stamp_parse_iso(t, &s, &used) || used != t.len) {
		return false;
	}
	*ret_ns = s.ns;
	return true;
}

int args_time(const char *what, struct text name, struct text t, int64_t *ret_ns, struct err *err)
{
	int64_t year;
	if (read_time(t, ret_ns))
		return 0;
	err_set(err, ERR_USAGE, "%s '%.*s' takes a time such as 2026-09-09T14:00:00Z, not '%.*s'", what, TEXT_ARG(name),
		TEXT_ARG(t));
	if (text_int64(text_sub(t, 0, 4), &year) && (year < 1678 || year > 2261))
		return err_hint(err, "times lie between 1677-09-22 and 2262-04-11");
	return ERR_USAGE;
}

static int take_value(const struct option_spec *spec, const char *value, struct err *err)
{
	struct text t = text_of(value);
	switch (spec->kind) {
	case OPTION_FLAG: return err_set(err, ERR_USAGE, "option %s takes no value", spec->name);
	case OPTION_FILE:
	case OPTION_TEXT:
		if (!*value)
			return err_set(err, ERR_USAGE, "option %s needs a value that is not empty", spec->name);
		*(const char **)spec->value = value;
		return 0;
	case OPTION_INT:
	case OPTION_COUNT: {
		int64_t n;
		if (!text_int64(t, &n) || n < 0)
			return err_set(err, ERR_USAGE, "option %s takes a whole number, not '%s'", spec->name, value);
		if (!n && spec->kind == OPTION_COUNT)
			return err_set(err, ERR_USAGE, "option %s takes a whole number of at least 1, not '%s'",
				       spec->name, value);
		*(int64_t *)spec->value = n;
		return 0;
	}
	case OPTION_TIME: return args_time("option", text_of(spec->name), t, spec->value, err);
	case OPTION_PARAM: {
		struct params *p = spec->value;
		size_t eq = text_find_char(t, '=', 0);
		if (eq == SIZE_MAX || eq == 0)
			return err_set(err, ERR_USAGE, "option %s takes name=value, not '%s'", spec->name, value);
		if (p->n == PARAMS_MAX)
			return err_set(err, ERR_USAGE, "more than %d %s", PARAMS_MAX, spec->name);
		p->name[p->n] = text_sub(t, 0, eq);
		p->value[p->n++] = text_from(t, eq + 1);
		return 0;
	}
	}
	return err_set(err, ERR_BUG, "option of unknown kind");
}

static const struct option_spec *find(const struct option_spec *list, size_t n, struct text name)
{
	for (size_t i = 0; i < n; i++)
		if (text_is(name, list[i].name))
			return &list[i];
	return NULL;
}

int args_parse(struct args *ret, int argc, char **argv, const struct option_spec *own, size_t n_own,
	       const struct option_spec *shared, size_t n_shared, int min, int max, struct err *err)
{
	const char *verb = argv[0]; /* argv is compacted from its beginning */
	uint64_t seen = 0;
	int n = 0;
	bool only_positional = false;
	for (int i = 1; i < argc; i++) {
		char *a = argv[i];
		if (only_positional || a[0] != '-' || !a[1]) {
			argv[n++] = a;
			continue;
		}
		if (!strcmp(a, "--")) {
			only_positional = true;
			continue;
		}
		struct text name = text_of(a);
		size_t eq = text_find_char(name, '=', 0);
		const char *value = NULL;
		if (eq != SIZE_MAX) {
			value = a + eq + 1;
			name = text_sub(name, 0, eq);
		}
		const struct option_spec *spec = find(own, n_own, name);
		size_t bit = spec ? (size_t)(spec - own) : 0;
		if (!spec && (spec = find(shared, n_shared, name)))
			bit = n_own + (size_t)(spec - shared);
		if (!spec) {
			err_set(err, ERR_USAGE, "unknown option '%s'", a);
			return err_hint(err, "see 'pagetrail help %s'", verb);
		}
		if (spec->kind != OPTION_PARAM && seen >> bit & 1)
			return err_set(err, ERR_USAGE, "option %s is given twice", spec->name);
		seen |= UINT64_C(1) << bit;
		if (spec->kind == OPTION_FLAG && !value) {
			*(bool *)spec->value = true;
			continue;
		}
		if (spec->kind == OPTION_FILE && !value && (i + 1 >= argc || (argv[i + 1][0] == '-' && argv[i + 1][1])))
			value = "-";
		if (spec->kind != OPTION_FLAG && !value) {
			if (i + 1 >= argc) {
				err_set(err, ERR_USAGE, "option %s needs a value", spec->name);
				return err_hint(err, "see 'pagetrail help %s'", verb);
			}
			value = argv[++i];
		}
		int rc = take_value(spec, value, err);
		if (rc)
			return rc;
	}
	if (max >= 0 && n > max)
		err_set(err, ERR_USAGE, "'%s' takes no argument '%s'", verb, argv[max]);
	else if (n < min)
		err_set(err, ERR_USAGE, "'%s' needs more arguments", verb);
	if (n < min || (max >= 0 && n > max)) {
		for (size_t i = 0; i < n_commands; i++)
			if (!strcmp(commands[i]->name, verb))
				err_hint(err, "usage: pagetrail %s %s", verb, commands[i]->synopsis);
		return ERR_USAGE;
	}
	ret->n = n;
	ret->at = argv;
	return 0;
}

int args_quote(struct buf *b, struct text t, struct err *err)
{
	bool plain = t.len > 0;
	for (size_t i = 0; i < t.len; i++)
		plain &= (t.ptr[i] >= 'a' && t.ptr[i] <= 'z') || (t.ptr[i] >= 'A' && t.ptr[i] <= 'Z') ||
			 (t.ptr[i] >= '0' && t.ptr[i] <= '9') || (t.ptr[i] && strchr("-_.:/@%+,=", t.ptr[i]));
	if (plain)
		return buf_add_text(b, t, err);
	int rc = buf_add_char(b, '\'', err);
	for (size_t i = 0; !rc && i < t.len; i++)
		rc = t.ptr[i] == '\'' ? buf_add_text(b, TEXT("'\\''"), err) : buf_add_char(b, t.ptr[i], err);
	return rc ? rc : buf_add_char(b, '\'', err);
}
