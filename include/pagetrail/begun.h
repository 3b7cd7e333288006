/* SPDX-License-Identifier: Apache-2.0 */
/* begun.h - what runs of `ingest` were given and did not read to the end: one row of case_info for each such path
 *
 * A run writes them before it reads anything, and takes them away when it has read all: also those that an earlier run left of
 * the same paths, or of paths below them. Whoever finds one knows that files may be missing of which nothing else tells.
 */
#pragma once

/* Key: the prefix and the absolute path ("-": standard input). Value: what people were asked to give, when, how many files there are
 * below it (null: not counted yet) and how many of them were begun. */
#define BEGUN_PREFIX  "begun:"
#define BEGUN_IS(key) key " >= 'begun:' AND " key " < 'begun;'"
#define BEGUN_JSON    "CASE WHEN json_valid(value) THEN value ELSE '{}' END"
/* Columns: path, begun_ns, files, started. */
#define BEGUN_SQL                                                                                         \
	"SELECT substr(key, 7) AS path, json_extract(" BEGUN_JSON ", '$.at_ns') AS begun_ns, "            \
	"json_extract(" BEGUN_JSON ", '$.files') AS files, json_extract(" BEGUN_JSON ", '$.started') AS " \
	"started FROM main.case_info WHERE " BEGUN_IS("key") " ORDER BY key"
