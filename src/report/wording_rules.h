/* SPDX-License-Identifier: Apache-2.0 */
/* wording_rules.h - private to wording.c: the rules. A rule has several lines; each says what breaks it, what in the same sentence excuses it, and
 * what to say instead. Patterns are those of PCRE2, whatever the case of letters. */
#pragma once

#include "pagetrail/macros.h"
#include "pagetrail/wording.h"

struct rule {
	const char *name, *words;
	const char *unless; /* words of the same sentence that excuse it; may be NULL */
	const char *advice;
};

#define CLASS "[CE][1-5]\\b"
#define PERSONS                                                                                                    \
	"(?:customers?|tenants?|users?|accounts?|people|persons?|organi[sz]ations?|requests?|responses?|records?|" \
	"sessions?|sites?|videos?|prompts?)"
#define N_OF_M "\\d[\\d,. ]*\\s+(?:of|out\\ of|/)\\s+(?:the\\s+|about\\s+)?\\d"

#define MONTH  "(?-i:January|February|March|April|May|June|July|August|September|October|November|December)"
#define HARMED "(?:accessed|exposed|leaked|affected|compromised|stolen|viewed|lost|impacted|misused|read|disclosed)"

static const struct rule rules[] = {
    {"no-absence",
     "\\bno\\s+(?:signs?\\s+of\\s+|indications?\\s+of\\s+|malicious\\s+|unauthori[sz]ed\\s+)?(?:exploitation|misuse|"
     "abuse|impact|harm|access)\\b",
     NULL, "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"no-absence",
     "(?:\\bnot|n't)\\s+(?:been\\s+)?(?:exploited|misused|abused|accessed|viewed|compromised|impacted|leaked|exposed)"
     "\\b|\\bnothing\\s+(?:was|has\\ been)\\s+" HARMED "\\b",
     NULL, "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"no-absence",
     "\\bno\\s+(?:\\w+\\s+){0,3}(?:was|were|has\\ been|have\\ been)\\s+(?:\\w+\\s+)?" HARMED
     "\\b|\\bno\\s+(?:\\w+\\s+)?" PERSONS "\\s+" HARMED "\\b",
     NULL, "print the 0 with the population that was searched"},
    {"no-absence", "\\bno\\s+evidence\\b", "\\bin\\s+[\\d,.\\ ]*\\d\\s+\\w",
     "say in how many records, and what they cover: 'no evidence found in N records covering …'"},
    {"not-affected",
     "\\bunaffected\\b|(?:\\bnot|n't)\\s+(?:been\\s+)?affected\\b|\\b(?:did|does)(?:\\s+not|n't)\\s+affect\\b", CLASS,
     "only as the name of a class (C4, E4), where no item could not be determined"},
    {"class-name", "\\b(?:confirmed|probabl[ey]|possib(?:le|ly))\\b",
     CLASS "|\\b(?:if|as\\ far\\ "
	   "as|where)\\s+possible\\b|\\bas\\s+\\w+\\s+as\\s+possible\\b|\\bit\\s+is\\s+possible\\s+to\\b",
     "these are names of classes: write the class (C1 confirmed), or another word"},
    {"scope-word", "\\b(?:all|every|each)\\s+(?:of\\s+)?(?:the\\s+|our\\s+|your\\s+|affected\\s+)*" PERSONS "\\b",
     N_OF_M, "say how many, of how many"},
    {"scope-word",
     "\\bonly\\s+(?:\\w+\\s+){0,2}(?:\\d|a\\ few|few|some|small|limited|" PERSONS
     "\\b)|\\blimited\\s+to\\b|\\baffected\\s+only\\b",
     NULL, "scope is a count with its population, and what could not be determined beside it"},
    {"belittling",
     "\\b(?:extremely|very|vanishingly)\\s+(?:low|rare|small|few|unlikely)\\b|\\b(?:tiny|negligible|minor|isolated)\\b",
     NULL, "a number, its unit and its population"},
    {"belittling",
     "\\babundance\\s+of\\s+caution\\b|\\bfor\\s+the\\s+avoidance\\s+of\\s+doubt\\b|\\bsophisticated\\b|\\bt(?:ake|ook)"
     "\\s[^.]{0,80}\\bseriously\\b",
     NULL, "a phrase that says nothing: leave it out"},
    {"belittling",
     "\\b(?:fully|completely|entirely)\\s+(?:resolved|fixed|mitigated|secure)\\b|\\b(?:is|are|remains?|was|were|be)\\s+"
     "(?:\\w+\\s+)?(?:safe|secure)\\b",
     NULL, "say what was measured, where, and when"},
    {"opinion",
     "\\bwe\\s+(?:do\\s+not\\s+|don't\\s+)?(?:believe|think|feel|assume|expect|are\\s+confident)\\b|\\bno\\s+reason\\s+"
     "to\\s+(?:believe|think)\\b|\\bnot\\s+aware\\s+of\\b|\\bit\\s+is\\s+(?:likely|unlikely|believed)\\b",
     NULL, "an opinion stands apart, and is signed by name"},
    {"opinion",
     "\\bcould\\s+not\\s+(?:be|have\\s+been)\\s+(?:\\w+\\s+)?(?:intentionally|deliberately|triggered|directed)\\b",
     NULL, "a claim about the mechanism needs its argument: name the condition that a request must meet"},
    {"share",
     "[<>~]?\\s*\\d+(?:[.,]\\d+)?\\s*(?:%|per\\s?cent\\b|percent\\b)|\\b(?:one|two|three|four|five|ten|half\\s+a|a\\s+"
     "few)\\s+per\\s?cent\\b",
     N_OF_M "|\\(\\s*\\d[\\d,. ]*\\s+of\\b|%\\s+of\\s+(?:the\\s+)?\\d",
     "a share needs its numerator and denominator: '3 of 8,398 (0.04 %)'"},
    {"share", "\\b(?:1|one)\\s+in\\s+(?:every\\s+)?(?!20\\d\\d\\b)\\d[\\d.,]*(?:\\s*(?:k|m|million|thousand))?\\b",
     N_OF_M, "a share needs its numerator and denominator"},
    {"vague-count",
     "\\b(?:a\\s+(?:small|limited|tiny)\\s+(?:number|subset|percentage|fraction|portion)|a\\s+(?:few|handful|subset)|"
     "several|some|many|(?<!at\\s)most|a\\s+number)\\s+(?:of\\s+)?(?:the\\s+|our\\s+)?(?:\\w+\\s+)?" PERSONS
     "\\b|\\bone\\s+or\\s+more\\s+" PERSONS "\\b",
     NULL, "say how many; 'could not be determined' where nobody knows"},
    {"vague-count", "\\b(?:approximately|about|around|roughly|nearly|almost|some)\\s+\\d", "\\bestimat",
     "the number as it was counted; 'approximately' is for an estimate, said to be one"},
    {"fixed",
     "\\b(?:is|are|was|were|has\\s+been|have\\s+been|now|we|we\\s+have|we've)\\s+(?:now\\s+|since\\s+)?(?:fixed(?!\\s+"
     "at\\s+[\\d,]+\\s+\\w)|resolved|patched|mitigated|remediated)\\b|\\bbefore\\s+it\\s+was\\s+patched\\b",
     "\\b(?:released|built|rolled\\s+out|running|runs|installed|last\\s+affected)\\b",
     "released, built, rolled out or running? 'Resolved' is the last affected response"},
    {"time",
     "\\b\\d{1,2}(?::\\d{2})?\\s?(?:a\\.?\\s?m\\.?|p\\.?\\s?m\\.?)(?=\\W|$)|(?<![T\\d:.+-])"
     "\\b\\d{1,2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?+)?+(?![\\d:]|\\s*Z)",
     NULL, "UTC, as 2026-09-09T14:00:00Z"},
    {"time",
     "\\b\\d{1,2}/\\d{1,2}/\\d{2,4}\\b|\\b" MONTH "\\s+\\d{1,2}\\b|\\b\\d{1,2}(?:st|nd|rd|th)?\\s+" MONTH
     "\\b|\\b(?:yesterday|last\\s+(?:week|month|night))\\b",
     NULL, "a date as 2026-09-09: it is read in many places, and long after"},
    {"zero", "\\bnone\\s+(?:of|was|were)\\b|\\bzero\\s+" PERSONS "\\b", N_OF_M, "0, with its population"},
    {"no-absence",
     "\\b(?:nobody|no\\s?one|no\\s+(?:third\\s+part(?:y|ies)|attackers?|outsiders?|(?:\\w+\\s+)?part(?:y|ies)))\\s+(?:"
     "else\\s+)?(?:has\\s+|have\\s+|had\\s+)?(?:exploited|misused|abused|accessed|read|saw|seen|viewed|used|received|"
     "gained|obtained)\\b",
     "\\bdo(?:es)?\\s+not\\s+show\\b", "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"no-absence",
     "\\bnever\\s+(?:been\\s+)?(?:exploited|abused|" HARMED
     ")|\\b(?:exploitation|misuse|abuse|exposure|disclosure|leak(?:age)?|breach)\\s+(?:did\\s+not|didn't|has\\s+not|"
     "hasn't|never)\\s+(?:occur|take\\s+place|taken\\s+place|happen)",
     NULL, "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"no-absence",
     "\\bno\\s+(?:\\w+\\s+){0,2}(?:exploits?|exploitation|misuse|abuse|breach(?:es)?|leaks?|leakage|exposure|loss|harm|"
     "damage|consequences|effect)\\b|\\b(?:zero|without|free\\s+of|absence\\s+of)\\s+(?:any\\s+)?(?:impact|harm|"
     "exposure|loss|damage|exploitation|misuse|abuse)\\b",
     NULL, "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"no-absence",
     "(?:\\b(?:did|does|do|could|would)(?:\\s+not|n't)|\\bnever)\\s+(?:have\\s+)?(?:impact|expose|disclose|leak|reveal|"
     "harm|lead\\s+to|result\\s+in)\\b",
     NULL, "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"no-absence", "\\bruled?\\s+out\\b", "(?:not|n't)\\s+(?:\\w+\\s+)?(?:\\w+\\s+)?ruled?\\s+out\\b",
     "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"no-absence",
     "\\b(?:stay(?:ed|s)|remain(?:ed|s)?|kept)\\s+(?:\\w+\\s+)?(?:private|confidential|secret)\\b|"
     "\\bconfidentiality\\s+(?:was|is|has\\s+been)\\s+(?:\\w+\\s+)?(?:preserved|kept|maintained)\\b|\\bnothing\\s+(?:"
     "leaked|happened)\\b|\\bno\\s+(?:\\w+\\s+){0,2}(?:data|content|information|text|prompts?)\\s+(?:left|was|were|has|"
     "have|is|are|got|went)\\b|\\bno\\s+" PERSONS "\\s+(?:contained|held)\\b",
     NULL, "print the 0 with the population that was searched"},
    {"no-absence",
     "\\bno\\s+(?:signs?|traces?|indications?|hints?)\\s+(?:of|that)\\b|\\bno\\s+proof\\s+(?:that|of\\s+(?:any\\s+)?(?:"
     "misuse|abuse|exploitation|harm))\\b|(?:\\bnot|n't)\\s+(?:seen|found|find|see|"
     "identif(?:y|ied)|observed?|detect(?:ed)?|discover(?:ed)?)\\s+(?:any\\s+)?(?:evidence|misuse|abuse|exploitation|"
     "signs?|indications?|harm|access|breach)\\b",
     "\\bin\\s+[\\d,. ]*\\d\\s+\\w",
     "say in how many records, and what they cover: 'no evidence found in N records covering …'"},
    {"no-absence",
     "\\b(?:was|were|been|is|are)(?:\\s+not|n't)\\s+(?:been\\s+)?(?:disclosed|shared|stolen|revealed|misused|(?:seen|"
     "read)\\s+by)\\b",
     NULL, "logs do not show absence: 'no evidence found in N records covering X % of …'"},
    {"not-affected",
     "(?:\\bnot|n't|\\bnever)\\s+(?:been\\s+)?(?:concerned|impacted|touched|affected)\\b|\\bnot\\s+among\\s+(?:those|"
     "the)\\b|\\bun(?:touched|impacted|harmed)\\b|\\b(?:was|were)\\s+spared\\b|\\bin\\s+the\\s+clear\\b|\\bnothing\\s+"
     "to\\s+do\\s+with\\s+your?\\b|\\b(?:do(?:es)?|did)(?:\\s+not|n't)\\s+(?:concern|impact|touch)\\s+your?\\b|"
     "\\bnever\\s+affected\\b|\\bneither\\b[^.]{0,60}\\baffected\\b|\\bno\\s+(?:further|other)\\s+" PERSONS
     "\\s+(?:is|are|was|were)\\b|\\b" PERSONS "\\s+(?:is|are|was|were)\\s+clean\\b",
     CLASS, "only as the name of a class (C4, E4), where no item could not be determined"},
    {"class-name",
     "\\b(?:potential(?:ly)?|presumed|definite(?:ly)?)\\b|\\bsuspected\\s+(?:cases?|leaks?|exposures?)\\b|\\blikely\\s+"
     "(?:held|exposed|affected|read|leaked|was|were)\\b|\\b(?:we|can|could)\\s+("
     "?:now\\s+)?confirm\\b|\\bconfirmation\\s+(?:came|that)\\b",
     CLASS, "classes say how sure it is: write the class (C1 to C5, E1 to E5), or what was counted"},
    {"scope-word",
     "\\b(?:entire|whole)\\s+(?:fleet|service|platform|population|incident|scope)\\b|\\bevery\\s+single\\b|\\b(?:"
     "everyone|everybody)\\s+(?:was|is|has|had|who|concerned|affected)\\b|\\banyone\\s+(?:concerned|affected)\\b|(?<!"
     "not\\s)\\ball\\s+(?:of\\s+)?(?:the\\s+|our\\s+)?(?:evidence|logs?|traffic|replicas?|nodes?|systems?)\\b",
     N_OF_M, "say how many, of how many"},
    {"scope-word",
     "\\b(?:only|just|merely|solely|exclusively)\\s+(?:\\w+\\s+)?(?:one|two|three|four|five|a\\s+single|in\\s+(?:one|a)"
     ")\\b|\\b(?:just|merely)\\s+\\d|\\b(?:confined|restricted|contained)\\s+to\\b|\\bno\\s+more\\s+than\\s+a\\b|"
     "\\bnobody\\s+but\\b|\\bat\\s+worst\\b|\\b(?:impact|scope|exposure)\\s+(?:was|is|were)\\s+limited\\b|"
     "\\blimited\\s+(?:impact|incident|exposure|scope)\\b|\\d\\s+" PERSONS ",?\\s+only\\b|\\btotal\\s+scope\\b",
     NULL, "scope is a count with its population, and what could not be determined beside it"},
    {"belittling",
     "\\b(?:exceedingly|highly|most|quite|rather)\\s+(?:rare|unlikely|small|low|limited)\\b|\\b(?:minimal|little|low|"
     "limited|insignificant|marginal)\\s+(?:impact|risk|effect|exposure|severity)\\b|\\b(?:insignificant|trivial|"
     "marginal|glitch|hiccup|harmless|benign|unprecedented|theoretical(?:ly)?)\\b|\\b(?:edge|corner)\\s+cases?\\b|"
     "\\brare\\s+(?:case|combination|circumstances?|event)|\\bunlikely\\s+(?:chain|combination)\\b|\\b(?:small|little)"
     "\\s+(?:bug|issue|problem|error)\\b",
     NULL, "a number, its unit and its population"},
    {"belittling",
     "\\bas\\s+a\\s+precaution|\\bprecautionary\\b|\\bout\\s+of\\s+caution\\b|\\b(?:industry[- ]leading|best[- ]in[- "
     "]class|state[- ]of[- ]the[- ]art|world[- ]class|\\w+[- "
     "]grade\\s+encryption)\\b|\\b(?:top|highest|utmost)\\s+(?:priority|importance)\\b|\\brest\\s+assured\\b|"
     "\\binconvenience\\b|\\bwe\\s+are\\s+committed\\s+to\\b|\\bhighly\\s+complex\\b",
     NULL, "a phrase that says nothing: leave it out"},
    {"belittling",
     "\\bno\\s+(?:need\\s+to\\s+worry|cause\\s+for\\s+(?:concern|alarm)|action\\s+is\\s+(?:needed|required))\\b|\\bdo(?"
     ":es)?(?:\\s+not|n't)\\s+need\\s+to\\s+(?:take\\s+any\\s+action|do\\s+anything|worry)\\b|\\b(?:will|can|could)(?:"
     "\\s+never|\\s?not|n't)\\s+happen\\s+again\\b|\\bfor\\s+good\\b|\\bback\\s+to\\s+normal\\b|\\b(?:permanently|"
     "totally)\\s+(?:fixed|resolved|solved)\\b",
     NULL, "say what was measured, where, and when; what readers should do is theirs to weigh"},
    {"opinion",
     "\\bin\\s+(?:our|my)\\s+(?:opinion|view|judge?ment)\\b|\\bfrom\\s+our\\s+(?:point\\s+of\\s+view|perspective)\\b|"
     "\\bwe\\s+(?:are\\s+(?:convinced|certain|sure|unaware)|consider|suspect|hope|presume|have\\s+no\\s+(?:knowledge|"
     "indication)|see\\s+no\\s+reason|estimate\\s+the\\s+risk)\\b|\\bno\\s+reason\\s+to\\b|\\bit\\s+(?:seems|appears)"
     "\\b|\\b(?:apparently|presumably|obviously|clearly|undoubtedly|evidently)\\b|\\bwithout\\s+(?:a\\s+)?doubt\\b|"
     "\\bto\\s+(?:the\\s+best\\s+of\\s+)?our\\s+knowledge\\b|\\bas\\s+far\\s+as\\s+we\\s+(?:know|are\\s+aware|can\\s+"
     "tell)\\b",
     NULL, "an opinion stands apart, and is signed by name"},
    {"opinion",
     "\\b(?:cannot|can't|could\\s+not|couldn't|could\\s+never)\\s+(?:be|have(?:\\s+been)?)\\s+(?:\\w+\\s+)?(?:"
     "intentionally|deliberately|triggered|directed|exploited|provoked|caused|targeted|abused)\\b|\\b(?:impossible|"
     "not\\s+possible)\\s+to\\s+(?:trigger|exploit|provoke|target|choose|direct)\\b|\\bnobody\\s+could\\s+have\\b",
     NULL, "a claim about the mechanism needs its argument: name the condition that a request must meet"},
    {"share",
     "\\b(?:half|(?:a|one|two|three)[ "
     "-](?:third|quarter|fifth|tenth)s?|majority|minority|a\\s+(?:\\w+\\s+)?(?:fraction|share|percentage|proportion))"
     "\\s+of\\b|\\d\\s*(?:‰|permille\\b|basis\\s+points?\\b|pct\\b)|\\b(?:\\d+|one|two|three|four|five|six|seven|eight|"
     "nine)\\s+(?:\\w+\\s+)?(?:in|out\\s+of)\\s+(?:(?:a|every|each|one)\\s+)?(?:ten|hundred|thousand|million)\\b|(?<!["
     "\\d:T])1:\\d{3,}\\b|\\b(?:twice|\\w+\\s+times)\\s+as\\s+(?:many|much|often)\\b",
     N_OF_M "|\\bby\\s+at\\s+most\\b", "a share needs its numerator and denominator: '3 of 8,398 (0.04 %)'"},
    {"vague-count",
     "\\ban?\\s+(?:very\\s+|relatively\\s+)?(?:low|certain|unknown|large|high|small|limited|significant|considerable|"
     "single-digit)\\s+number\\s+of\\b|\\b(?:a\\s+couple|dozens|hundreds|thousands|millions)\\s+of\\b|\\ba\\s+few\\s+(?"
     ":dozen|hundred|thousand)\\b|\\b(?:numerous|various|multiple|few|fewer|certain|selected|countless)\\s+(?:\\w+\\s+)"
     "?" PERSONS "\\b|\\b(?:an?\\s+(?:\\w+\\s+)?(?:portion|subset|part|number)|part|some)\\s+of\\s+(?:the\\s+|our\\s+|"
     "your\\s+)?(?:\\w+\\s+)?(?:traffic|" PERSONS ")\\b|\\ban?\\s+(?:estimated\\s+)?few\\b",
     NULL, "say how many; 'could not be determined' where nobody knows"},
    {"vague-count",
     "\\b(?:approx\\.?|ca\\.|circa)\\s*(?:\\d|$)|~\\s*\\d|\\d\\s+or\\s+so\\b|\\b(?:more\\s+or\\s+less|close\\s+to|"
     "just\\s+(?:"
     "under|over)|well\\s+over|upwards\\s+of|in\\s+the\\s+(?:region|order)\\s+of)\\s+\\d|\\bbetween\\s+\\d[\\d,]*\\s+"
     "and\\s+\\d[\\d,]*\\s+" PERSONS "\\b",
     "\\bestimat", "the number as it was counted; 'approximately' is for an estimate, said to be one"},
    {"vague-count",
     "\\b(?:over|more\\s+than|fewer\\s+than|less\\s+than|under|up\\s+to)\\s+(?!5\\b)\\d[\\d,.]*\\s+" PERSONS "\\b",
     N_OF_M, "the number as it was counted; 'at least' where gaps are known, 'at most' for a bound"},
    {"fixed",
     "\\b(?:fix|patch|correction)\\s+(?:is|was|has\\s+been|went)\\s+(?:now\\s+)?(?:live|in\\s+place|deployed|applied|"
     "shipped|out|pushed)\\b|\\bwe\\s+(?:have\\s+)?(?:deployed|shipped|pushed|applied)\\s+(?:a|the)\\s+(?:fix|patch|"
     "correction)\\b|\\b(?:bug|flaw|issue|problem|incident|defect|vulnerability|leak|fault|root\\s+cause)\\s+(?:is|was|"
     "got|has\\s+been|has\\s+since\\s+been)\\s+(?:now\\s+)?(?:fixed|patched|solved|corrected|contained|eliminated|"
     "closed|addressed|remedied|stopped|plugged|removed|over|gone)\\b|\\b(?:flaw|bug)\\s+has\\s+since\\b|\\bno\\s+"
     "longer\\s+(?:exists?|present|occurs?|possible)\\b|\\bis\\s+behind\\s+us\\b|\\bwe\\s+(?:have\\s+)?(?:addressed|"
     "remedied|corrected|solved|eliminated|closed|stopped|mitigated)\\s+(?:the|this)\\b|\\bsystems\\s+are\\s+"
     "operational\\b|\\bfleet\\s+is\\s+up\\s+to\\s+date\\b",
     "\\b(?:released|built|rolled\\s+out|running|runs|installed|last\\s+affected)\\b",
     "released, built, rolled out or running? 'Resolved' is the last affected response"},
    {"time",
     "\\b20\\d\\d-\\d\\d-\\d\\d[T "
     "]\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?+)?+(?!\\s*(?:Z|[+-]\\d\\d))|\\b\\d{1,2}(?:\\.\\d\\d\\s?h\\b|h\\d\\d\\b)|"
     "\\b\\d{4}\\s+hours\\b|\\b(?:noon|midnight|tonight|today|tomorrow)\\b|\\b(?:this|in\\s+the)\\s+(?:morning|"
     "afternoon|evening)\\b|\\b(?:on|last|next|this|since)\\s+(?-i:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\\b|\\b(?:"
     "this|next|last|earlier\\s+this)\\s+(?:week|month|year)\\b|\\b(?:hours?|days?|weeks?|months?|minutes?)\\s+ago\\b|"
     "\\bover\\s+the\\s+weekend\\b",
     NULL, "UTC, as 2026-09-09T14:00:00Z"},
    {"time",
     "\\b(?:0?[1-9]|[12]\\d|3[01])\\.\\s?(?:0?[1-9]|1[0-2])\\.\\s?20\\d\\d\\b|\\b20\\d\\d/\\d{1,2}/"
     "\\d{1,2}\\b|\\b(?-i:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\\b\\.?\\s+\\d{1,2}\\b|\\b\\d{1,2}\\.?\\s+(?-i:"
     "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\\b|\\b(?:in|since|until|early|mid|late)[- "
     "](?:early\\s+|mid-?\\s?|late\\s+)?" MONTH "\\b",
     NULL, "a date as 2026-09-09: it is read in many places, and long after"},
    {"time",
     "\\b(?:recently|promptly|immediately|shortly\\s+(?:after|before)|soon|within\\s+(?:hours|days|minutes)|currently|"
     "so\\s+far|at\\s+present|at\\s+the\\s+time\\s+of\\s+writing)\\b",
     "\\bas\\s+of\\s+20\\d\\d|\\bas\\s+soon\\s+as\\b|\\d\\dZ", "say when: a time in UTC, or 'as of' one"},
    {"zero",
     "\\b(?:not\\s+(?:a\\s+single|one)|zero)\\s+" PERSONS
     "\\b|\\bthere\\s+(?:was|were|is|are|have\\s+been)\\s+no\\s+(?:such\\s+)?" PERSONS "\\b|\\bno\\s+" PERSONS
     "\\s+(?:was|were)\\s+found\\b|\\bno\\s+(?:hits?|matches|findings)\\b|\\bnothing\\s+was\\s+found\\b|\\bcounted\\s+"
     "none\\b|:\\s+none\\.?$|^\\s*nil\\b|\\bno\\s+gaps\\b(?!\\s+found\\s+by)|\\bnot\\s+any\\s+" PERSONS "\\b",
     N_OF_M, "0, with its population"},
    {"zero",
     "(?<![\\d,.])\\b0\\s+(?:customers|tenants|users|requests|responses|hits|matches)\\s+(?:was|were|had)\\b|\\b(?:"
     "found|"
     "counted|saw)\\s+0\\s+(?:customers|tenants|users|requests|responses|hits|matches)\\b",
     "\\bof\\s+(?:the\\b|your\\b|our\\b|\\d)|\\bin\\s+[\\d,. ]*\\d", "0 of how many? '0 of 8,398 responses'"},
    {"blank", "\\[TO\\ BE\\ COMPLETED|\\bTB[ACD]\\b|\\bT\\.B\\.[ACD]\\.|\\bTODO\\b|\\bFIXME\\b|\\[INSERT\\b", NULL,
     "a person has to fill this in"},
};

const struct wording_rule_info wording_rules[] = {
    {"no-absence", "no claim that something did not happen"},
    {"not-affected", "'not affected' is the name of a class"},
    {"class-name", "confirmed, probable, possible are names of classes"},
    {"scope-word", "all, each, only, limited to: a count with its population instead"},
    {"belittling", "no words that make it small, and no phrases that say nothing"},
    {"opinion", "opinions and claims about the mechanism stand apart, signed"},
    {"share", "no share without numerator and denominator"},
    {"vague-count", "a number where one is known; 'approximately' for estimates alone"},
    {"fixed", "fixed, resolved: released, built, rolled out or running"},
    {"time", "times in UTC with Z, dates as year-month-day"},
    {"zero", "zero is 0, with its population"},
    {"blank", "what a person must fill in is filled in"},
};
