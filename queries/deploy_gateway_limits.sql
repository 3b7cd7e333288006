-- SPDX-License-Identifier: Apache-2.0
-- deploy_gateway_limits: over-long prompts that a gateway itself refused
-- question: Does a gateway refuse what the engines should, and since when?
-- scan:   allowed
-- param:  :at time ns  what was refused and served until then, and boots that had started; not given: of the whole case
-- column: gateway text -  worker of its log, else the file
-- column: status integer -  HTTP status: 400 or 413
-- column: refused integer requests  at or over the least limit of any prefill or unified boot, with no leg of any engine
-- column: shortest_refused integer tokens  the least length of them: its limit is at most that
-- column: engine_limit integer tokens  the least limit of those boots
-- column: first_at time ns  first of them
-- column: last_at time ns  last of them
-- column: served_since integer responses  as long as the shortest or longer, begun after the first refusal, that left or may have
-- column: basis text -  upstream_named: this log names the upstream of other requests, not of these; no_engine_record: no engine's log knows them
-- column: refs json -  records that this rests on: the first eight
-- order:  first_at, gateway, status
-- empty:  no gateway is known to have refused an over-long prompt by itself; one that logs no lengths is not excluded
WITH least AS MATERIALIZED (
  SELECT min(b.input_limit) AS tokens FROM boot b JOIN worker w USING(worker)
  WHERE coalesce(b.role, w.role, 'unified') <> 'decode' AND (:at IS NULL OR coalesce(b.started_ns, :at) <= :at)
), named AS MATERIALIZED (SELECT DISTINCT source FROM gateway_events WHERE upstream IS NOT NULL),
seen AS MATERIALIZED (
  SELECT e.source, e.byte_off, e.ref, e.status, e.prompt_tokens, least.tokens AS engine_limit,
         -- times beside the stamp are epochs, but where they were made of it
         coalesce(coalesce(e.finished_ns, e.started_ns)
                  - coalesce(iif(e.ts_ns IN (e.finished_ns, e.started_ns), e.ts_ns - e.at_ns, NULL), e.skew_ns), e.at_ns) AS at
  FROM gateway_events e CROSS JOIN least
  WHERE e.status IN (400, 413) AND e.upstream IS NULL AND e.prompt_tokens >= least.tokens AND NOT EXISTS (
    SELECT 1 FROM alias a JOIN leg l ON l.request = a.request WHERE a.value = e.gateway_id)
), g AS MATERIALIZED (
  SELECT *, row_number() OVER (PARTITION BY source, status ORDER BY byte_off) AS place
  FROM seen WHERE :at IS NULL OR at <= :at
), t AS MATERIALIZED (
  SELECT source, status, count(*) AS refused, min(prompt_tokens) AS shortest, min(engine_limit) AS engine_limit,
         min(at) AS first_at, max(at) AS last_at, json_group_array(ref) FILTER (WHERE place <= 8) AS refs
  FROM g GROUP BY source, status
)
SELECT coalesce(s.worker, s.path) AS gateway, t.status, t.refused, t.shortest AS shortest_refused, t.engine_limit, t.first_at,
       t.last_at,
       (SELECT count(*) FROM response r WHERE r.prompt_tokens >= t.shortest AND r.delivered <> 'no'
        AND coalesce(r.started_ns, r.finished_ns) > t.first_at
        AND (:at IS NULL OR coalesce(r.finished_ns, r.started_ns) <= :at)) AS served_since,
       CASE WHEN t.source IN (SELECT source FROM named) THEN 'upstream_named' ELSE 'no_engine_record' END AS basis, t.refs
FROM t JOIN source s USING(source)
ORDER BY t.first_at, gateway, t.status, t.source
