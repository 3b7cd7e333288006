/* SPDX-License-Identifier: Apache-2.0 */
/* kind_scope.c - the scope report: what it asks, in its order
 *
 * What a responder reads first stands first. Wording: no sentence says that something did not happen; what was not seen
 * is said with the population it was not seen in.
 */
#include "facts.h"

#define RESPONSE_SHOWN                                                                                 \
	"class=Class,started_at=Started,request=Request,tenant=Recipient,prompt_tokens=Prompt tokens," \
	"band=Length,decode_worker=Answered by,owner_count=Owners known,candidate_owners=Candidates,"  \
	"reasons=Why,refs=Records"

static const struct blank blanks[] = {
    {"phase", "Phase", "first, follow-up or final report"},
    {"marking", "Marking", "traffic light (TLP) or own classification of this paper"},
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"detected", "Detection",
     "when and how the incident was noticed, and by whom; start of each clock with its reason"},
    {"root-cause", "Root cause",
     "what went wrong in design, test and operation; the mechanism seen in the logs stands under "
     "Method"},
    {"severity", "Severity", "class by your own scheme, with the reasoning"},
    {"consequences", "Likely consequences", "for the tenants on both sides; categories of data are not in the logs"},
    {"notification", "Whom to notify",
     "decision by tenant, authority and contract, with the reasoning, also where the "
     "decision is not to notify"},
    {"actions-taken", "Actions taken", "what was done, when, by whom, and the measured effect"},
    {"actions-planned", "Actions planned", "what will be done, by whom, until when"},
    {"custody", "Collection of the evidence",
     "who collected each source, when and how; that the copies equal the originals"},
};

static const struct section sections[] = {
    {.id = "days",
     .title = "Affected responses per day",
     .query = "report_days",
     .shown = "day=Day (UTC),responses=Responses,c1=C1 confirmed,c2=C2 probable,c3=C3 possible,c4=C4 not affected,"
	      "c5=C5 not determined",
     .text = "Responses of the population by the day on which they began."},
    {.id = "affected",
     .title = "Responses affected",
     .query = "scope",
     .classes = "C1,C2",
     .shown = RESPONSE_SHOWN,
     .empty = "0 responses are C1 confirmed or C2 probable on the evidence that was read; see C3, C5 and the limits",
     .text = "Confirmed (C1) and probable (C2) responses: who received what was not theirs. Where no page log tells, "
	     "'candidates' is the number of requests whose content the pages may have held."},
    {.id = "open",
     .title = "Responses that cannot be excluded",
     .query = "scope",
     .classes = "C3,C5",
     .shown = RESPONSE_SHOWN,
     .empty = "the population is C1 confirmed, C2 probable, or excluded by a named predicate",
     .text = "Possible (C3), and those that could not be determined (C5). A missing log is a reason to stand here, "
	     "never a reason to be excluded."},
    {.id = "tenants",
     .title = "Tenants on both sides",
     .query = "report_tenants",
     .shown =
	 "tenant=Tenant,c1=Received C1,c2=Received C2,c3=Received C3,c5=Received C5,first_received_at=First received,"
	 "last_received_at=Last received,longest_prompt_tokens=Longest prompt,e1=Own requests E1,e2=E2,e3=E3,e5=E5",
     .text = "A tenant can be on both sides: its responses may hold what was not its own (C), and its own requests may "
	     "have been read by others (E). These are two messages to a tenant, never one."},
    {.id = "exposed",
     .title = "The exposed side",
     .query = "report_exposed",
     .shown = "class=Class,grade=Grade,requests=Requests,tenants=Tenants,pages=Pages,first_read_at=First read,"
	      "last_read_at=Last read",
     .list = "exposed",
     .list_shown = "class=Class,request=Request,tenant=Tenant,readers=Readers,reader_tenants=Their tenants,pages=Pages,"
		   "first_read_at=First read,grade=Grade,refs=Records",
     .text =
	 "Requests whose content was, or may have been, read by another request. Physical: page logs name the pages. "
	 "Temporal: the request lived in the same pool before; it is a candidate, not a finding."},
    {.id = "windows",
     .title = "Both windows, per worker",
     .query = "windows",
     .shown = "worker=Worker,role=Role,affected=Affected responses,affected_from=Recipient window from,"
	      "affected_to=Recipient window to,exposed_from=Exposed window from,exposed_to=Exposed window to",
     .text =
	 "The recipient window runs from the start of the first to the end of the last affected response. The exposed "
	 "window begins earlier: a page keeps "
	 "its content until it is overwritten, so it reaches back to the start of the boot that answered. An unknown "
	 "start means: before the log begins."},
    {.id = "coverage",
     .title = "Workers, coverage and timeline",
     .query = "report_coverage",
     .shown = "worker=Worker,role=Role,page_log=Page log,first_at=First record,last_at=Last record,seen_s=Seconds seen,"
	      "window_s=Seconds of the window,responses=Responses,affected=Affected,lineage_unknown=Lineage "
	      "unknown,gaps=Gaps",
     .text =
	 "What each worker's logs span of the window of the population. A span is not a promise: within it, see the "
	 "gaps. Logs that nobody collected are not seen here."},
    {.id = "gaps",
     .title = "Gaps",
     .query = "gaps",
     .shown =
	 "kind=Kind,source=Source,worker=Worker,from=From,to=To,missing=Missing,unit=Unit,effect=What this takes away,"
	 "refs=Records",
     .text = "What the logs do not say, and what that takes away."},
    {.id = "reads",
     .title = "Page reads",
     .query = "report_reads",
     .shown =
	 "worker=Worker,pool=Pool,kind=Kind,readers=Readers,owners=Owners,pairs=Pairs,pairs_across=Between tenants,"
	 "pairs_within=Within a tenant,pairs_delivered=Delivered,pages=Pages,first_read_at=First read",
     .list = "exposures",
     .list_shown =
	 "worker=Worker,kind=Kind,reader_request=Reader,owner_request=Owner,cross_tenant=Between tenants,"
	 "pages=Pages,tokens_at_most=Tokens at most,first_read_at=First read,delivered=Delivered,refs=Records",
     .text =
	 "From page logs: reads of pages that held another request's content. Kind 'shared' is legitimate sharing of "
	 "a cached prefix; 'uninitialised' pages held nobody's data."},
    {.id = "boots",
     .title = "Boots and their limits",
     .query = "boots",
     .shown = "worker=Worker,role=Role,started_at=Started,ended_at=Ended,engine=Engine,version=Version,"
	      "context_len=Context,pool_tokens=Pool,input_limit=Input limit,input_limit_basis=Basis,"
	      "context_exceeds_pool=Context exceeds pool,refs=Records",
     .text = "Limits belong to one start of one worker, never to the fleet."},
    {.id = "signals",
     .title = "Signs of deliberate use that were searched for",
     .query = "signals",
     .shown = "signal=Signal,searched_for=Searched for,population=Responses,searched=Of these searched,matches=Matches,"
	      "tenants=Tenants,cannot_show=Records cannot show",
     .text =
	 "A match is a reason to look, not a finding of intent: an ordinary client that retries a long prompt matches "
	 "too. Not searched, because no record here holds it: content of prompts, client addresses, what recipients "
	 "did "
	 "with responses, knowledge and intent."},
    {.id = "conflicts",
     .title = "Conflicts between sources",
     .query = "conflicts",
     .shown = "class=Class,request=Request,tenant=Recipient,started_at=Started,predicates=Predicates,reasons=Why,refs="
	      "Records",
     .text = "Where one source contradicts another. They are listed, not averaged."},
    {.id = "excluded",
     .title = "Responses excluded (C4), and why",
     .query = "report_excluded",
     .shown = "rule=Rule,excluded_by=Excluded by,responses=Responses",
     .text = "Responses of class C4 are excluded by a named predicate. The rules stand under Method."},
    {.id = "questions",
     .title = "Open questions",
     .query = "report_open",
     .shown = "predicate=Predicate,asks=Question,yes=Yes,no=No,unknown=Unknown,unknown_open=Unknown and open",
     .text = "What the evidence leaves unanswered. 'Unknown and open' counts responses of C2, C3 and C5 that an answer "
	     "could move."},
    {.id = "evidence",
     .title = "Evidence inventory",
     .query = "sources",
     .shown =
	 "source=No.,path=Path,format=Format,worker=Worker,bytes=Bytes,records=Records,parsed=Parsed,context=Context,"
	 "unparsed=Unparsed,duplicate=Duplicate,status=Status,sha256=SHA-256 of the file",
     .text = "Every file that was read. For each: records = parsed + context + unparsed + duplicate. 'Context' is a "
	     "recognised line that carries no event."},
    {.id = "clocks",
     .title = "Clocks",
     .query = "clocks",
     .shown = "source=Source,path=Path,worker=Worker,offset_s=Offset (s),bound_s=Wrong by at most (s),basis=Basis",
     .text = "Offset subtracted from each source's times to reach UTC, and what it rests on."},
};

const struct kind kind_scope = {
    .name = "scope",
    .sheet = "scope.xsl",
    .readers = READERS_OPERATOR,
    .incident = true,
    .numbers = &case_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .sections = sections,
    .n_sections = ARRAY_SIZE(sections),
    .figures = put_figures,
};
