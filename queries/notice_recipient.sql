-- SPDX-License-Identifier: Apache-2.0
-- notice_recipient: own responses that hold, or may hold, what is another's
-- question: Which of a tenant's responses may hold content that is not its own?
-- param:  :tenant text -  the tenant
-- column: request text -  own request
-- column: response_ids json -  ids of it that the caller has seen
-- column: started_at time ns  when it began
-- column: finished_at time ns  when the response ended
-- column: model text -  model asked for
-- column: prompt_tokens integer tokens  length of the own prompt
-- column: class text -  C1, C2, C3 or C5
-- column: grade text -  physical (page log) or temporal (lived there before)
-- column: content_of text -  whose it is: another customer, yourself, not known
-- column: delivered tri -  did at least one byte or token of content leave?
-- order:  started_at, request
-- empty:  the own responses are excluded (C4), by named predicates
SELECT f.request,
       (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM alias own_id WHERE own_id.request = f.request_id
          AND own_id.kind IN ('response_id', 'gateway_id', 'trace_id') AND value <> f.request ORDER BY value)) AS response_ids,
       f.started_at, f.finished_at, f.model, f.prompt_tokens, f.class, f.grade,
       CASE f.cross_tenant WHEN 'yes' THEN 'another customer' WHEN 'no' THEN 'yourself' ELSE 'not known' END AS content_of,
       f.delivered
FROM findings() f
WHERE f.tenant = :tenant AND f.class <> 'C4'
ORDER BY f.started_at, f.request, f.response_id
