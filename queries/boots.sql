-- SPDX-License-Identifier: Apache-2.0
-- boots: boots and their limits
-- question: What did each start of each worker run, and with which limits?
-- column: worker text -  name
-- column: role text -  prefill, decode or unified
-- column: started_at time ns  start; none: before the log begins
-- column: ended_at time ns  stop or next start; none: still running where the log ends
-- column: engine text -  engine
-- column: version text -  as reported
-- column: commit text -  source revision
-- column: model text -  model served
-- column: transfer_backend text -  KV transfer
-- column: context_len integer tokens  configured context window
-- column: pool_tokens integer tokens  KV pool
-- column: page_size integer tokens  one page
-- column: input_limit integer tokens  length at which it rejects
-- column: input_limit_basis text -  printed, rejection or derived
-- column: context_exceeds_pool bool -  is the context window larger than the pool?
-- column: refs json -  records that this rests on
-- order:  worker, started_at
-- empty:  no start, and no setting of any worker, was logged
SELECT w.name AS worker, coalesce(b.role, w.role) AS role, b.started_ns AS started_at, b.ended_ns AS ended_at,
       coalesce(b.engine, w.engine) AS engine, b.version, b.commit_id AS "commit", b.model, b.transfer_backend,
       b.context_len, b.pool_tokens, b.page_size, b.input_limit, b.input_limit_basis,
       b.context_len > b.pool_tokens AS context_exceeds_pool, b.refs
FROM boot b JOIN worker w USING(worker)
ORDER BY w.name, b.started_ns, b.boot
