/* SPDX-License-Identifier: Apache-2.0 */
/* secret_name.c - what a secret is called: the one list of such names, of members, options, variables and headers
 *
 * Names as SGLang's arguments have them (srt/server_args.py: api_key, admin_api_key, ssl_keyfile_password), as the
 * environment of engines has them (HF_TOKEN, OPENAI_API_KEY, AWS_SECRET_ACCESS_KEY), and as HTTP has them (RFC 9110,
 * section 11: Authorization, Proxy-Authorization). A tokenizer's tokens and counts of tokens are no secrets.
 */
#include <ctype.h>

#include "pagetrail/macros.h"
#include "pagetrail/secret.h"

enum { NAME_SEEN = 128, WORDS_MAX = 2 * NAME_SEEN };

/* A name in small letters: its words with '_' between them, and all of it without. */
struct spelled_name {
	char words[WORDS_MAX], joined[NAME_SEEN];
	size_t n_words, n_joined;
};

/* "HFToken", "hf-token", "HF Token" and "hf_token" are one. Of a long name its end. */
static void spell(struct text t, struct spelled_name *s)
{
	t = t.len > NAME_SEEN ? text_from(t, t.len - NAME_SEEN) : t;
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.ptr[i];
		bool after_small = i && (islower((unsigned char)t.ptr[i - 1]) || isdigit((unsigned char)t.ptr[i - 1]));
		bool before_small =
		    i && isupper((unsigned char)t.ptr[i - 1]) && i + 1 < t.len && islower((unsigned char)t.ptr[i + 1]);
		bool begins = !isalnum(c) || (isupper(c) && (after_small || before_small));
		if (begins && s->n_words && s->words[s->n_words - 1] != '_')
			s->words[s->n_words++] = '_';
		if (isalnum(c))
			s->words[s->n_words++] = s->joined[s->n_joined++] = (char)tolower(c);
	}
	if (s->n_words && s->words[s->n_words - 1] == '_')
		s->n_words--;
}

static bool one_of(struct text t, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_is(t, list[i]))
			return true;
	return false;
}

/* The last word of *t, which is taken away. */
static struct text take_word(struct text *t)
{
	size_t from = t->len;
	while (from && t->ptr[from - 1] != '_')
		from--;
	struct text word = text_from(*t, from);
	*t = text_sub(*t, 0, from ? from - 1 : 0);
	return word;
}

enum secret_name secret_name(struct text name)
{
	static const char *const anywhere[] = {
	    "apikey",     "password",   "passwd",     "passphrase", "passcode",      "passkey",         "secret",
	    "credential", "privatekey", "accesskey",  "authkey",    "signingkey",    "encryptionkey",   "masterkey",
	    "licensekey", "accountkey", "storagekey", "sharedkey",  "authorization", "connectionstring"};
	static const char *const last[] = {"token", "auth", "cookie", "cookies", "jwt", "bearer", "pass", "psk"};
	static const char *const whose_key[] = {"openai", "anthropic", "azure", "aws",          "hf",    "ssh",
						"admin",  "gpg",       "sas",   "subscription", "auth0", "pgp"};
	static const char *const whose_tokens[] = {"",        "api",     "access",  "auth",     "bearer",
						   "refresh", "session", "service", "security", "hf"};
	/* what a model's vocabulary has, and what is counted */
	static const char *const no_key[] = {
	    "bos",   "eos",    "pad",    "unk",     "sep",    "cls",        "mask",      "image", "video",
	    "audio", "vision", "stop",   "special", "start",  "end",        "begin",     "think", "eot",
	    "eom",   "eod",    "fim",    "prefix",  "suffix", "middle",     "tool",      "call",  "added",
	    "vocab", "new",    "num",    "max",     "min",    "per",        "first",     "next",  "last",
	    "prev",  "each",   "output", "input",   "prompt", "completion", "generated", "total", "time",
	    "draft", "hot",    "logit",  "a",       "the",    "forward"};
	struct spelled_name s = {.n_words = 0};

	spell(name, &s);
	for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++)
		if (text_find((struct text){s.joined, s.n_joined}, anywhere[i], 0) != SIZE_MAX)
			return SECRET_NAME;
	struct text before = {s.words, s.n_words}, word = take_word(&before), whose = take_word(&before);
	if (text_is(word, "key") && one_of(whose, whose_key, ARRAY_SIZE(whose_key)))
		return SECRET_NAME;
	if (text_is(word, "tokens") && one_of(whose, whose_tokens, ARRAY_SIZE(whose_tokens)))
		return SECRET_NAME_MAYBE;
	if (text_is(word, "pwd") && whose.len) /* PWD alone is a shell's folder */
		return SECRET_NAME;
	return one_of(word, last, ARRAY_SIZE(last)) && !one_of(whose, no_key, ARRAY_SIZE(no_key)) ? SECRET_NAME_MAYBE
												  : SECRET_NAME_NONE;
}

bool secret_value_is_none(struct text value, enum secret_name name)
{
	static const char *const nothing[] = {"",     "none", "None",  "null",  "NULL",  "true",
					      "True", "TRUE", "false", "False", "FALSE", "undefined"};
	size_t stars = 0, digits = 0;

	if (one_of(value, nothing, ARRAY_SIZE(nothing)))
		return true;
	for (size_t i = 0; i < value.len; i++) {
		stars += value.ptr[i] == '*';
		digits += strchr("0123456789.+-%", value.ptr[i]) != NULL && value.ptr[i];
	}
	if (stars == value.len || name == SECRET_NAME)
		return stars == value.len;
	/* a number, "<|im_end|>", "[PAD]" */
	char first = value.ptr[0], end = value.ptr[value.len - 1];
	return digits == value.len || (first == '<' && end == '>') || (first == '[' && end == ']');
}
