-- SPDX-License-Identifier: Apache-2.0
-- report_deploy: the state of each replica, one row each
-- question: What does each replica run, and how well is that known?
-- param:  :at time ns  as it was then; not given: at the last event of the case
-- param:  :as_of time ns  time against which the age of the evidence counts; not given: the time that is judged
-- column: replica text -  worker; the data-parallel ranks of one server are one replica
-- column: role text -  prefill, decode or unified
-- column: version text -  by the record that decides
-- column: rung text -  how well the version is known: L0 the policy alone, L1 built, L2 ordered, L3 it lies there, L4 its process said it, L5 it behaves so
-- column: verdict text -  verified_fixed, verified_affected, conflicting, stale, undetermined, not_observed, retired
-- column: evidence_at time ns  newest record of the version
-- column: reasons json -  stable codes, see docs/deploy.md
-- column: refs json -  records that this rests on
-- column: counted bool -  it is in the inventory, and had begun
-- column: outside bool -  the inventory does not have it
-- column: node text -  machine, as containers or the inventory say
-- column: engine text -  engine
-- column: commit text -  source revision
-- column: image_digest text -  of its container, or of the inventory
-- column: pool_tokens integer tokens  KV pool; of several ranks the least
-- column: context_len integer tokens  configured context window
-- column: context_exceeds_pool tri -  is the context window larger than the pool?
-- column: model text -  model served
-- column: fixed_since time ns  first record of its process that says a version with the fix; none: no such record
-- column: boot_started_at time ns  start of its process; none: before the log begins, or not seen
-- column: judged_at time ns  time that the verdict is of
-- column: evidence json -  the records of its version: rung, package, version, commit, what the policy says, time, ref
-- column: inventory json -  columns of the inventory that nothing follows from
-- order:  replica
-- empty:  no engine, no container and no inventory speaks of any replica
SELECT replica, role, version, rung, verdict, evidence_at, reasons, refs, counted, outside, node, engine,
       commit_id AS "commit", image_digest, pool_tokens, context_len, context_exceeds_pool, model, fixed_since,
       boot_started_at, judged_at, evidence, inventory
FROM deploy(:at, :as_of) WHERE current
ORDER BY replica, boot_started_at, boots
