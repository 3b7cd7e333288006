-- SPDX-License-Identifier: Apache-2.0
-- deploy: which version each replica runs, and how well that is known
-- question: Does every replica run the fix, and who says so?
-- param:  :at time ns  the replicas as they were then: one row each, and nothing that became known later; not given: one row a boot
-- param:  :as_of time ns  time against which the age of the evidence counts; not given: the time that is judged
-- column: replica text -  worker; the data-parallel ranks of one server are one replica
-- column: boot_started_at time ns  start of its process; none: before the log begins, or not seen
-- column: boot_ended_at time ns  its end; none: still running where the log ends
-- column: role text -  prefill, decode or unified
-- column: node text -  machine, as containers or the inventory say
-- column: engine text -  engine
-- column: version text -  by the record that decides
-- column: commit text -  source revision, likewise
-- column: image_digest text -  of its container, or of the inventory
-- column: rung text -  how well the version is known: L0 the policy alone, L1 built, L2 ordered, L3 it lies there, L4 its process said it, L5 it behaves so
-- column: pool_tokens integer tokens  KV pool; of several ranks the least
-- column: context_len integer tokens  configured context window
-- column: context_exceeds_pool tri -  is the context window larger than the pool of this boot?
-- column: verdict text -  verified_fixed, verified_affected, conflicting, stale, undetermined, not_observed, retired
-- column: reasons json -  stable codes, see docs/deploy.md
-- column: evidence_at time ns  newest record of the version
-- column: refs json -  records that this rests on
-- column: model text -  model served
-- column: input_limit integer tokens  length at which it rejects
-- column: judged_at time ns  time that the verdict is of
-- column: current bool -  its state at the time asked for; 0: one of its past
-- column: outside bool -  the inventory does not have it
-- column: evidence json -  the records of its version: rung, package, version, commit, what the policy says, time, ref
-- column: inventory json -  columns of the inventory that nothing follows from
-- order:  replica, boot_started_at
-- empty:  no engine, no container and no inventory speaks of any replica
SELECT replica, boot_started_at, boot_ended_at, role, node, engine, version, commit_id AS "commit", image_digest, rung,
       pool_tokens, context_len, context_exceeds_pool, verdict, reasons, evidence_at, refs, model, input_limit, judged_at,
       current, outside, evidence, inventory
FROM deploy(:at, :as_of)
ORDER BY replica, boot_started_at, boots
