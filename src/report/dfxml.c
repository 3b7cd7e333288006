/* SPDX-License-Identifier: Apache-2.0 */
/* dfxml.c - a manifest as DFXML 2.0.0-beta.0: a fileobject for each file as given, and in it what was read of it
 *
 * What DFXML has no word for stands in elements of our own namespace, which its schema allows behind the digests. Foreign text enters
 * through xml.c alone.
 */
#include <libxml/tree.h>

#include "facts.h"
#include "manifest.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

#define DFXML_NS "http://www.forensicswiki.org/wiki/Category:Digital_Forensics_XML"
#define DC_NS    "http://purl.org/dc/elements/1.1/"

struct writer {
	struct facts f;
	const struct manifest *m;
	xmlNsPtr dfxml, dc, own;
};

static xmlNodePtr put_in(struct writer *w, xmlNsPtr ns, xmlNodePtr parent, const char *name)
{
	w->f.ns = ns;
	return put_node(&w->f, parent, name);
}

static int put_words(struct writer *w, xmlNsPtr ns, xmlNodePtr parent, const char *name, struct text t)
{
	return put_text(&w->f, put_in(w, ns, parent, name), t);
}

static int put_number(struct writer *w, xmlNodePtr parent, const char *name, int64_t n)
{
	char digits[TEXT_NUMBER_MAX];
	return put_words(w, w->dfxml, parent, name, (struct text){digits, text_put_int64(digits, n)});
}

static int put_metadata(struct writer *w)
{
	xmlNodePtr meta = put_in(w, w->dfxml, w->f.root, "metadata");
	int rc = put_words(w, w->dc, meta, "type", TEXT("Evidence manifest"));
	if (!rc && w->m->case_id.len)
		rc = put_words(w, w->dc, meta, "identifier", w->m->case_id);
	xmlNodePtr own = rc ? NULL : put_in(w, w->own, meta, "case");
	if (!rc)
		rc = put_attr(&w->f, own, "journal-sha256", text_of(w->m->journal));
	if (!rc)
		rc = put_attr(&w->f, own, "content-sha256", text_of(w->m->content));
	return rc;
}

static int put_creator(struct writer *w)
{
	char at[40];
	xmlNodePtr creator = put_in(w, w->dfxml, w->f.root, "creator");
	int rc = put_words(w, w->dfxml, creator, "program", TEXT("pagetrail"));
	if (!rc)
		rc = put_words(w, w->dfxml, creator, "version", TEXT(PAGETRAIL_VERSION));
	stamp_format(w->m->dated_ns, at, sizeof(at));
	if (!rc && *at)
		rc = put_words(w, w->dfxml, put_in(w, w->dfxml, creator, "execution_environment"), "start_time",
			       text_of(at));
	return rc;
}

/* One row: each cell that is there as an attribute. */
static int put_read(struct writer *w, xmlNodePtr object, const struct manifest_cell *row)
{
	xmlNodePtr node = put_in(w, w->own, object, "read");
	int rc = 0;
	for (unsigned i = 0; !rc && i < w->m->n_columns; i++) {
		const char *name = w->m->columns[i].ptr;
		char tmp[64];
		struct text t = {tmp, 0};
		if (row[i].type == SQL_NULL)
			continue;
		if (row[i].type == SQL_REAL)
			t.len = text_put_double(tmp, row[i].real);
		else if (row[i].type != SQL_INT)
			t = row[i].text;
		else if (manifest_is_time(w->m, i))
			t = text_of(stamp_format(row[i].n, tmp, sizeof(tmp)));
		else
			t.len = text_put_int64(tmp, row[i].n);
		rc = put_attr(&w->f, node, name, t);
	}
	return rc;
}

static int put_file(struct writer *w, size_t row, size_t end)
{
	const struct manifest *m = w->m;
	struct text digest = manifest_cell(m, row, M_SHA256)->text;
	const struct manifest_cell *size = NULL; /* a copy has none */
	xmlNodePtr object = put_in(w, w->dfxml, w->f.root, "fileobject");
	int rc = put_words(w, w->dfxml, object, "filename", manifest_cell(m, row, M_FILE)->text);
	for (size_t i = row; i < end; i++)
		if (manifest_cell(m, i, M_STORED_BYTES)->type == SQL_INT)
			size = manifest_cell(m, i, M_STORED_BYTES);
	if (!rc && !digest.len)
		rc = put_words(w, w->dfxml, object, "error",
			       manifest_cell(m, row, M_REASON)->text.len ? manifest_cell(m, row, M_REASON)->text
									 : TEXT("its digest is not known"));
	if (!rc && digest.len && size)
		rc = put_number(w, object, "filesize", size->n);
	if (!rc && digest.len) {
		xmlNodePtr hash = put_in(w, w->dfxml, object, "hashdigest");
		rc = put_attr(&w->f, hash, "type", TEXT("sha256"));
		if (!rc)
			rc = put_text(&w->f, hash, digest);
	}
	for (size_t i = row; !rc && i < end; i++)
		rc = put_read(w, object, m->rows[i]);
	return rc;
}

static int put_files(struct writer *w)
{
	int rc = 0;
	for (size_t i = 0, end; !rc && i < w->m->n; i = end) {
		end = i + 1;
		while (end < w->m->n && !manifest_begins(w->m, end))
			end++;
		rc = put_file(w, i, end);
	}
	return rc;
}

static int write_out(xmlDocPtr doc, struct buf *out, struct err *err)
{
	xmlChar *bytes = NULL;
	int n = 0;
	xmlDocDumpFormatMemoryEnc(doc, &bytes, &n, "UTF-8", 1);
	int rc = bytes ? buf_add(out, bytes, (size_t)n, err) : err_nomem(err);
	xmlFree(bytes);
	return rc;
}

int manifest_dfxml(const struct manifest *m, struct buf *out, struct err *err)
{
	struct writer w = {.f = {.err = err, .scratch = BUF_INIT(1 * MIB)}, .m = m};
	w.f.doc = xmlNewDoc(XC("1.0"));
	w.f.root = w.f.doc ? xmlNewDocNode(w.f.doc, NULL, XC("dfxml"), NULL) : NULL;
	int rc = w.f.root ? 0 : err_nomem(err);
	if (!rc) {
		xmlDocSetRootElement(w.f.doc, w.f.root);
		w.dfxml = xmlNewNs(w.f.root, XC(DFXML_NS), NULL);
		w.dc = xmlNewNs(w.f.root, XC(DC_NS), XC("dc"));
		w.own = xmlNewNs(w.f.root, XC(MANIFEST_PREDICATE), XC("pt"));
		xmlSetNs(w.f.root, w.dfxml);
		rc = w.dfxml && w.dc && w.own ? put_attr(&w.f, w.f.root, "version", TEXT("2.0.0-beta.0"))
					      : err_nomem(err);
	}
	if (!rc)
		rc = put_metadata(&w);
	if (!rc)
		rc = put_creator(&w);
	if (!rc)
		rc = put_files(&w);
	if (!rc)
		rc = write_out(w.f.doc, out, err);
	buf_done(&w.f.scratch);
	xmlFreeDoc(w.f.doc);
	return rc;
}
