/* SPDX-License-Identifier: Apache-2.0 */
/* reasons.h - why a predicate has its value: stable short codes, and what each says in words; private to src/analysis
 *
 * X(ENUM, "code", 'P', "sentence"): P is the predicate that it speaks of (T, A, L, D, X), or C for the class, J for how its parts were
 * joined. Order here is order in a row. docs/method.md has the rules that give them (a test holds the two together).
 */
#pragma once

#define REASONS(X)                                                                                                    \
	X(PROMPT_OVER_LIMIT, "prompt_at_or_over_limit", 'T', "The prompt was at or over the input limit.")            \
	X(ENGINE_REJECTED, "engine_rejected", 'T', "The engine itself says that it refused this prompt.")             \
	X(HANDOFF_MISMATCH, "handoff_mismatch", 'T',                                                                  \
	  "The prefill leg refused or worked on one token, and the decode leg of the same attempt on many.")          \
	X(PROMPT_BELOW_LIMIT, "prompt_below_limit", 'T', "The prompt was below the input limit.")                     \
	X(OVER_POLICY_LENGTH, "prompt_at_or_over_policy_length", 'T',                                                 \
	  "The prompt was at or over the length that the policy names.")                                              \
	X(BELOW_POLICY_LENGTH, "prompt_below_policy_length", 'T',                                                     \
	  "The prompt was below the length that the policy names.")                                                   \
	X(ANY_REQUEST, "policy_takes_any_request", 'T', "The policy takes every request of an affected build.")       \
	X(OVER_DECODE_LIMIT, "over_decode_limit_too", 'T',                                                            \
	  "The prompt was at or over the input limit of the decode boot too: that one should have refused it as "     \
	  "well.")                                                                                                    \
	X(TRUNCATED, "truncated_and_served", 'T', "The engine cut the prompt to fit, and served what was left.")      \
	X(LENGTH_UNKNOWN, "length_unknown", 'T', "No record gives the length of the prompt.")                         \
	X(LENGTH_NOT_EXACT, "length_not_exact", 'T',                                                                  \
	  "The length of the prompt is only a lower bound or an estimate, too near to the limit to decide.")          \
	X(LIMIT_UNKNOWN, "limit_unknown", 'T', "No record gives the input limit of the boot that served it.")         \
	X(PREFILL_MISSING, "prefill_leg_missing", 'T', "No prefill leg of this request is in the evidence.")          \
	X(HANDOFF_OPEN, "handoff_not_seen_whole", 'T',                                                                \
	  "A leg that was not logged, or of which only a lower bound is known, may hide a hand-off mismatch.")        \
	X(LATE_READ, "late_read_reported", 'T',                                                                       \
	  "The prefill worker reports a read of pages that it had already given up.")                                 \
	X(ENTERED, "entered_by_person", 'T', "The pool or the limit was entered by a person; no log gives it.")       \
	X(VERSION_AFFECTED, "version_affected", 'A', "A boot that served it ran a version with the defect.")          \
	X(HANDOFF_OBSERVED, "handoff_observed", 'A',                                                                  \
	  "The failure itself was seen in this request, whatever the version says.")                                  \
	X(VERSION_FIXED, "version_fixed", 'A', "A boot that served it ran a version that has the fix.")               \
	X(MODE_UNIFIED, "mode_unified", 'A', "One worker served it whole: there was no hand-off.")                    \
	X(ENGINE_OTHER, "engine_other", 'A', "Another engine than the affected one served it.")                       \
	X(VERSION_UNDECIDED, "version_undecided", 'A',                                                                \
	  "The version is a development, candidate or local build: its name does not say whether the fix is in it.")  \
	X(VERSION_UNKNOWN, "version_unknown", 'A', "No record gives the version of a boot that served it.")           \
	X(COMMIT_LACKS_FIX, "commit_lacks_fix", 'A', "The policy lists a boot's commit as one without the fix.")      \
	X(COMMIT_HAS_FIX, "commit_contains_fix", 'A', "The policy lists a boot's commit as one with the fix.")        \
	X(COMMIT_CONTRADICTS, "commit_contradicts_version", 'A',                                                      \
	  "What the policy says of a boot's commit and of its version differs.")                                      \
	X(BACKPORT, "backport_declared", 'A', "The policy declares a boot's version as a backport of the fix.")       \
	X(BACKPORT_BARE, "backport_undocumented", 'A',                                                                \
	  "The policy declares a boot's version as a backport, without who, when or on what evidence.")               \
	X(BACKEND_OTHER, "transfer_backend_other", 'A', "A boot ran a transfer back-end without the defect.")         \
	X(BACKEND_UNKNOWN, "transfer_backend_unknown", 'A', "No record names the transfer back-end of a boot.")       \
	X(MODE_UNKNOWN, "mode_unknown", 'A', "No record says whether prefill and decode were apart.")                 \
	X(FOREIGN_READ, "foreign_read", 'L', "A page log shows that it read pages with another request's content.")   \
	X(SAME_TENANT, "foreign_read_same_tenant_only", 'L', "All that it read is of requests of its own tenant.")    \
	X(OWNERS_OPEN, "owners_not_all_known", 'L', "Records are missing that may hide more owners of what it read.") \
	X(NO_FOREIGN_READ, "no_foreign_read", 'L',                                                                    \
	  "The page logs of every leg that the answer rests on are complete, and show no foreign read.")              \
	X(ACROSS_GAP, "foreign_read_across_gap", 'L',                                                                 \
	  "It read a page with another's content, but a lost record may have filled that page for it.")               \
	X(OTHER_ATTEMPT, "foreign_read_in_other_attempt", 'L',                                                        \
	  "An attempt that did not give the answer read another request's content.")                                  \
	X(UNUSED_PREFILL, "foreign_read_in_unused_prefill", 'L',                                                      \
	  "A prefill leg of which nothing was used read another request's content.")                                  \
	X(PAGE_LOG_INCOMPLETE, "page_log_incomplete", 'L',                                                            \
	  "The page log of the worker that answered does not hold this request whole.")                               \
	X(NO_PAGE_LOG, "no_page_log", 'L', "There is no page log of the worker that answered.")                       \
	X(NO_READ_LOGGED, "no_read_logged", 'L', "An answer left, but the page log shows no read by this request.")   \
	X(READ_IN_PART, "pages_read_in_part", 'L',                                                                    \
	  "The page log shows reads, but not of all pages that the prompt can have lain in.")                         \
	X(READ_UNTOLD, "write_may_be_read", 'L',                                                                      \
	  "The page log has no reads: a write over pages with others' content may have been a step of decoding.")     \
	X(PREFILL_LOG_INCOMPLETE, "prefill_page_log_incomplete", 'L',                                                 \
	  "The page log of the prefill worker does not hold this request whole.")                                     \
	X(NO_PREFILL_PAGE_LOG, "no_prefill_page_log", 'L',                                                            \
	  "There is no page log of the prefill worker, or the prefill leg is not known.")                             \
	X(ATTEMPT_NOT_SEEN, "attempt_not_seen", 'J',                                                                  \
	  "More attempts were made than are in the evidence: another one may have answered.")                         \
	X(LEGS_CONTRADICT, "legs_contradict", 'J',                                                                    \
	  "Logs say of one attempt what cannot be: two places that did the same, or a prefill leg that answered.")    \
	X(RESTART_OPEN, "restart_may_be_lost", 'J',                                                                   \
	  "A worker's log has a hole, or another record contradicts it: a restart, another limit and version may be " \
	  "lost.")                                                                                                    \
	X(POOL_FRESH, "pool_not_used_before", 'L',                                                                    \
	  "No request is known to have had pages of that pool since its boot: what it found there was nobody's.")     \
	X(NOT_DELIVERED, "not_delivered", 'D', "No content left.")                                                    \
	X(STALE_NOT_DELIVERED, "stale_read_not_delivered", 'D', "It read another's content, but no content left.")    \
	X(DELIVERY_UNKNOWN, "delivery_unknown", 'D', "No record decides whether content left.")                       \
	X(FOREIGN_MARKER, "foreign_marker", 'X',                                                                      \
	  "A marker that was planted in another request stands in a record of it.")                                   \
	X(MARKER_PROMPT_UNSEEN, "marker_prompt_not_seen", 'X',                                                        \
	  "No log holds its prompt whole: that it was asked with the marker, and repeated it, is not excluded.")      \
	X(MARKER_EARLY, "marker_before_planted", 'X',                                                                 \
	  "Contradiction: it had ended before the marker was planted, as the file of markers says.")                  \
	X(EXCLUDED_D, "excluded_by:D", 'C', "Excluded, because nothing was delivered.")                               \
	X(EXCLUDED_L, "excluded_by:L", 'C', "Excluded, because complete page logs show no foreign read.")             \
	X(EXCLUDED_T, "excluded_by:T", 'C', "Excluded, because the trigger condition was not met.")                   \
	X(EXCLUDED_A, "excluded_by:A", 'C', "Excluded, because no affected build or mode served it.")                 \
	X(CONFLICT_LT, "conflict:L,T", 'C', "Contradiction: a foreign read, although the trigger was not met.")       \
	X(CONFLICT_LA, "conflict:L,A", 'C', "Contradiction: a foreign read, although the build is not affected.")     \
	X(CONFLICT_X, "conflict:X", 'C', "Contradiction: content evidence against another predicate.")                \
	X(IDS_CONTRADICT, "ids_contradict", 'J', "Identifiers of this request contradict each other.")                \
	X(JOINED_LOOSELY, "joined_by_time_and_length", 'J',                                                           \
	  "Gateway and engine share no identifier: they were joined because time and lengths fit no other.")

#define REASON_ENUM(id, code, about, says) REASON_##id,
enum reason { REASONS(REASON_ENUM) N_REASONS };
#undef REASON_ENUM

struct reason_text {
	const char *code;
	char about;
	const char *says;
};
extern const struct reason_text reason_texts[N_REASONS];
