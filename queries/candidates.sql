-- SPDX-License-Identifier: Apache-2.0
-- candidates: how much of whose content a response can have read, where no page log tells
-- question: Of how many requests can a response have read content, how many tokens at most, and how much of the pool was unused?
-- scan:   allowed
-- param:  :class text -  classes, comma between; without it C1, C2, C3 and C5
-- column: request text -  the response's request
-- column: tenant text -  its tenant
-- column: class text -  C1 to C5
-- column: worker text -  decode worker in whose pool it read; none: not known
-- column: boot integer -  its boot
-- column: boot_started_at time ns  when that began
-- column: started_at time ns  when the response's leg began
-- column: candidate_owners integer requests  that lived there before, at most
-- column: prompt_tokens integer tokens  of its prompt
-- column: foreign_at_most integer tokens  of the candidates' content that it can have read, at most
-- column: pool_tokens integer tokens  size of that pool
-- column: used_before integer tokens  of it in use at some moment between boot and leg, by the engine's batch lines: at least
-- column: unused_at_most integer tokens  of the read that can lie in pages that were never used: none, if the prompt's length is not known
-- column: refs json -  the batch line that says so
-- order:  started_at, request
-- empty:  no response rests on a candidate set: page logs tell all, or nothing is suspected
WITH reader AS MATERIALIZED (
  SELECT f.request, f.request_id, f.response_id, f.tenant, f.class, f.candidate_owners, f.prompt_tokens, f.prompt_tokens_flag,
         f.foreign_at_most, f.decode_worker AS worker, l.boot, coalesce(l.started_ns, l.finished_ns, f.started_at) AS at
  FROM findings() f LEFT JOIN leg l ON l.leg = f.decode_leg
  WHERE f.grade = 'temporal'
    AND CASE WHEN :class IS NULL THEN f.class <> 'C4'
             ELSE instr(',' || replace(:class, ' ', '') || ',', ',' || f.class || ',') > 0 END),
-- a usage is printed with two digits: half of the last one less. A second more: stamps lack their fraction
line AS (
  SELECT w.name AS worker, e.ref, e.used_tokens, e.usage_ppm, e.at_ns + 1000000000 AS at
  FROM load_events e JOIN worker w ON w.name = e.worker
  WHERE (e.used_tokens IS NOT NULL OR e.usage_ppm IS NOT NULL) AND e.ts_quality IN (1, 2, 3)
    AND w.name IN (SELECT worker FROM reader)),
used AS (
  SELECT b.boot, line.at, line.ref,
         max(0, min(coalesce(line.used_tokens, (line.usage_ppm - 5000) * (b.pool_tokens / 1000) / 1000, 0), b.pool_tokens)) AS tokens
  FROM line JOIN worker w ON w.name = line.worker JOIN boot b ON b.worker = w.worker
  WHERE b.started_ns IS NOT NULL AND b.pool_tokens IS NOT NULL AND line.at - 1000000000 >= b.started_ns
    AND (b.ended_ns IS NULL OR line.at <= b.ended_ns)),
-- the highest so far, and its line: both in one number
mark AS (
  SELECT boot, at, response_id, max(tokens) OVER before AS most, ref, tokens
  FROM (SELECT boot, at, NULL AS response_id, tokens, ref FROM used
        UNION ALL SELECT boot, at, response_id, 0, NULL FROM reader WHERE boot IS NOT NULL)
  WINDOW before AS (PARTITION BY boot ORDER BY at, response_id IS NOT NULL, tokens
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
told AS (
  SELECT response_id, most, (SELECT min(u.ref) FROM used u WHERE u.boot = mark.boot AND u.at <= mark.at AND u.tokens = most) AS ref
  FROM mark WHERE response_id IS NOT NULL AND most > 0)
SELECT r.request, r.tenant, r.class, r.worker, r.boot, b.started_ns AS boot_started_at, r.at AS started_at, r.candidate_owners,
       r.prompt_tokens, r.foreign_at_most, b.pool_tokens, t.most AS used_before,
       CASE WHEN t.most IS NOT NULL AND r.prompt_tokens_flag = 'exact' THEN min(b.pool_tokens - t.most, r.prompt_tokens) END
         AS unused_at_most,
       CASE WHEN t.ref IS NULL THEN '[]' ELSE json_array(t.ref) END AS refs
FROM reader r LEFT JOIN boot b ON b.boot = r.boot LEFT JOIN told t ON t.response_id = r.response_id
ORDER BY r.at, r.request, r.response_id
