/* SPDX-License-Identifier: Apache-2.0 */
/* wording.c - the rules, and how sentences are taken out of a text or a page
 *
 * A sentence is judged with the words that excuse it: "resolved" is a claim, "the release with the fix was resolved to …
 * running" names its rung. Blocks of a page (a paragraph, a cell) end sentences.
 */
#include "pagetrail/wording.h"

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/pattern.h"

#include "wording_rules.h"

const size_t n_wording_rules = ARRAY_SIZE(wording_rules);

struct checker {
	struct pattern *words[ARRAY_SIZE(rules)], *unless[ARRAY_SIZE(rules)];
	struct match *m;
	wording_fn *on_fault;
	void *ctx;
	struct err *err;
	struct buf sentence; /* white space as one blank each */
	int64_t line;        /* where it begins */
};

static void checker_done(struct checker *k)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		pattern_free(k->words[i]);
		pattern_free(k->unless[i]);
	}
	match_free(k->m);
	buf_done(&k->sentence);
}

static int compile(struct pattern **ret, const char *words, struct err *err)
{
	char regex[4096];
	if (snprintf(regex, sizeof(regex), "(?i)%s", words) >= (int)sizeof(regex))
		return err_set(err, ERR_BUG, "a rule is too long");
	return pattern_compile(ret, regex, false, err);
}

static int checker_open(struct checker *k, struct err *err)
{
	int rc = match_new(&k->m, err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(rules); i++) {
		rc = compile(&k->words[i], rules[i].words, err);
		if (!rc && rules[i].unless)
			rc = compile(&k->unless[i], rules[i].unless, err);
	}
	return rc;
}

/* ---- sentences ---- */
/* The same rule has several lines: words that one of them found are not told again. */
static bool is_said(struct text words, const char *rule, const struct text *said, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], rule) && words.ptr < said[i].ptr + said[i].len &&
		    said[i].ptr < words.ptr + words.len)
			return true;
	return false;
}

static int sentence_end(struct checker *k)
{
	struct text t = buf_text(&k->sentence), said[ARRAY_SIZE(rules)];
	const char *names[ARRAY_SIZE(rules)];
	size_t n = 0;
	int rc = 0;
	for (size_t i = 0; !rc && t.len && i < ARRAY_SIZE(rules); i++) {
		if (!pattern_search(k->words[i], k->m, t, 0))
			continue;
		struct wording_fault f = {k->line, rules[i].name, match_whole(k->m), rules[i].advice};
		if (k->unless[i] && pattern_search(k->unless[i], k->m, t, 0))
			continue;
		if (is_said(f.words, f.rule, said, names, n))
			continue;
		said[n] = f.words;
		names[n++] = f.rule;
		rc = k->on_fault(k->ctx, &f);
	}
	buf_clear(&k->sentence);
	return rc;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

/* A stop ends a sentence where white space and no small letter follows: "e.g. this", "p. m." and "1.5" go on. */
static bool ends_here(struct text t, size_t i)
{
	if (t.ptr[i] != '.' && t.ptr[i] != '!' && t.ptr[i] != '?')
		return false;
	size_t next = i + 1;
	while (next < t.len && (blank(t.ptr[next]) || t.ptr[next] == '"' || t.ptr[next] == ')'))
		next++;
	return next == t.len || (next > i + 1 && !(t.ptr[next] >= 'a' && t.ptr[next] <= 'z'));
}

/* Characters of a text that stand for a blank, for nothing, or for a plainer one; returns their bytes, 0: none of them. */
static size_t plain(struct text t, char *ret)
{
	static const struct {
		const char *bytes;
		char as; /* NUL: nothing */
	} odd[] = {{"\xc2\xa0", ' '},   {"\xe2\x80\xaf", ' '},  {"\xe3\x80\x80", ' '}, {"\xc2\xad", 0},
		   {"\xe2\x80\x8b", 0}, {"\xe2\x80\x8c", 0},    {"\xe2\x80\x8d", 0},   {"\xe2\x81\xa0", 0},
		   {"\xef\xbb\xbf", 0}, {"\xe2\x80\x99", '\''}, {"\xe2\x80\x91", '-'}};
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		if (text_starts(t, odd[i].bytes)) {
			*ret = odd[i].as;
			return strlen(odd[i].bytes);
		}
	/* U+2000 to U+200A: blanks of all widths */
	if (t.len >= 3 && !memcmp(t.ptr, "\xe2\x80", 2) && (unsigned char)t.ptr[2] >= 0x80 &&
	    (unsigned char)t.ptr[2] <= 0x8a) {
		*ret = ' ';
		return 3;
	}
	return 0;
}

/* Marks of Markdown, code and addresses, which no sentence is made of; returns their bytes. */
static size_t marks(struct text t, bool markdown)
{
	size_t n = 0;
	if (text_starts(t, "http://") || text_starts(t, "https://")) {
		while (n < t.len && !blank(t.ptr[n]) && t.ptr[n] != ')' && t.ptr[n] != '<')
			n++;
		return n;
	}
	if (!markdown)
		return 0;
	if (*t.ptr == '*' ||
	    (*t.ptr == '[' && !text_starts(t, "[TO BE") && !text_starts(t, "[TBD") && !text_starts(t, "[INSERT")))
		return 1;
	const char *end = *t.ptr == '`'          ? memchr(t.ptr + 1, '`', MIN(t.len - 1, 200))
			  : text_starts(t, "](") ? memchr(t.ptr, ')', MIN(t.len, 2000))
						 : NULL;
	if (end && !memchr(t.ptr, '\n', (size_t)(end - t.ptr)))
		return (size_t)(end - t.ptr) + 1;
	return *t.ptr == '`' ? 1 : 0;
}

/* Words of one block; line: where they begin. */
static int words_add(struct checker *k, struct text t, int64_t line, bool paragraphs)
{
	unsigned newlines = 0;
	int rc = 0;
	for (size_t i = 0; !rc && i < t.len; i++) {
		char c = t.ptr[i];
		struct text rest = text_from(t, i);
		size_t odd = plain(rest, &c), skipped = odd ? 0 : marks(rest, paragraphs);
		if (skipped || (odd && !c)) {
			i += skipped + odd - 1;
			continue;
		}
		i += odd ? odd - 1 : 0;
		newlines = c == '\n' ? newlines + 1 : blank(c) ? newlines : 0;
		line += c == '\n';
		if (paragraphs && newlines == 2)
			rc = sentence_end(k);
		if (blank(c)) {
			struct text so_far = buf_text(&k->sentence);
			if (so_far.len && so_far.ptr[so_far.len - 1] != ' ')
				rc = rc ? rc : buf_add_char(&k->sentence, ' ', k->err);
			continue;
		}
		if (!rc && !k->sentence.len)
			k->line = line;
		if (!rc)
			rc = buf_add_char(&k->sentence, c, k->err);
		if (!rc && (ends_here(t, i) || k->sentence.len >= SENTENCE_MAX_BYTES))
			rc = sentence_end(k);
	}
	return rc;
}

/* ---- pages ---- */
/* Elements that stand inside a sentence; all others end it. */
static bool is_inline(const xmlNode *n)
{
	static const char *const names[] = {"a",      "data", "abbr", "b",    "code", "em",    "i",     "span",
					    "strong", "sub",  "sup",  "time", "mark", "small", "tspan", "value"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (n->type == XML_ELEMENT_NODE && !xmlStrcasecmp(n->name, (const xmlChar *)names[i]))
			return true;
	return n->type != XML_ELEMENT_NODE;
}

static bool is_silent(const xmlNode *n)
{
	return n->type == XML_ELEMENT_NODE && (!xmlStrcasecmp(n->name, (const xmlChar *)"style") ||
					       !xmlStrcasecmp(n->name, (const xmlChar *)"script"));
}

/* Once over the tree, without recursion: a page may be as deep as it likes. */
static int walk(struct checker *k, xmlNode *root)
{
	int rc = 0;
	for (xmlNode *n = root; n && !rc;) {
		bool down = n->children && n->type == XML_ELEMENT_NODE && !is_silent(n);
		if (n->type == XML_TEXT_NODE || n->type == XML_CDATA_SECTION_NODE)
			rc = words_add(k, text_of((const char *)n->content), xmlGetLineNo(n), false);
		else if (!is_inline(n))
			rc = sentence_end(k);
		if (down) {
			n = n->children;
			continue;
		}
		while (n != root && !n->next) {
			n = n->parent;
			if (!rc && !is_inline(n))
				rc = sentence_end(k);
		}
		n = n == root ? NULL : n->next;
	}
	return rc ? rc : sentence_end(k);
}

static int check_page(struct checker *k, struct text t, enum wording_shape shape, struct err *err)
{
	if (t.len > INT32_MAX)
		return err_set(err, ERR_LIMIT, "a page of more than 2 GiB");
	enum { XML = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_BIG_LINES };
	enum { HTML = HTML_PARSE_NONET | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING };
	xmlDoc *doc = shape == WORDING_HTML ? htmlReadMemory(t.ptr, (int)t.len, NULL, "UTF-8", HTML)
					    : xmlReadMemory(t.ptr, (int)t.len, NULL, NULL, XML);
	xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;
	int rc = root ? walk(k, root)
		      : err_set(err, ERR_INPUT, "it is no %s that can be read", shape == WORDING_HTML ? "HTML" : "XML");
	xmlFreeDoc(doc);
	return rc;
}

enum wording_shape wording_shape_of(struct text t)
{
	while (t.len && blank(*t.ptr))
		t.ptr++, t.len--;
	if (t.len >= 5 && !strncasecmp(t.ptr, "<?xml", 5))
		return WORDING_XML;
	if ((t.len >= 9 && !strncasecmp(t.ptr, "<!doctype", 9)) || (t.len >= 5 && !strncasecmp(t.ptr, "<html", 5)))
		return WORDING_HTML;
	return WORDING_TEXT;
}

int wording_check(struct text t, enum wording_shape shape, wording_fn *on_fault, void *ctx, struct err *err)
{
	if (!text_trim(t).len)
		return err_set(err, ERR_INPUT, "it is empty: nothing was judged");
	if (memchr(t.ptr, '\0', t.len) || !text_utf8_valid(t)) {
		err_set(err, ERR_INPUT, "it is no text in UTF-8: nothing was judged");
		return err_hint(err, "give it as HTML, XML, Markdown or text");
	}
	CLEANUP(checker_done)
	struct checker k = {
	    .sentence = BUF_INIT(2 * SENTENCE_MAX_BYTES), .on_fault = on_fault, .ctx = ctx, .err = err, .line = 1};
	int rc = checker_open(&k, err);
	if (!rc && shape == WORDING_TEXT) {
		rc = words_add(&k, t, 1, true);
		rc = rc ? rc : sentence_end(&k);
	} else if (!rc) {
		rc = check_page(&k, t, shape, err);
	}
	return rc;
}
