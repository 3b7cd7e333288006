-- SPDX-License-Identifier: Apache-2.0
-- report_builds: what replicas run, a row for each build
-- question: Which builds run, on how many replicas, and what is known of these?
-- param:  :at time ns  as it was then; not given: at the last event of the case
-- param:  :as_of time ns  time against which the age of the evidence counts; not given: the time that is judged
-- column: engine text -  engine
-- column: version text -  by the record that decides
-- column: commit text -  source revision
-- column: image_digest text -  of the container, or of the inventory
-- column: replicas integer replicas  that run it, retired ones too
-- column: verified_fixed integer replicas  their own process said so
-- column: verified_affected integer replicas  likewise
-- column: conflicting integer replicas  records contradict each other
-- column: others integer replicas  stale, undetermined, not observed
-- column: retired integer replicas  the inventory says so
-- order:  engine, version, commit, image_digest
-- empty:  no engine, no container and no inventory speaks of any replica
SELECT engine, version, commit_id AS "commit", image_digest, count(*) AS replicas,
       count(*) FILTER (WHERE verdict = 'verified_fixed') AS verified_fixed,
       count(*) FILTER (WHERE verdict = 'verified_affected') AS verified_affected,
       count(*) FILTER (WHERE verdict = 'conflicting') AS conflicting,
       count(*) FILTER (WHERE verdict IN ('stale', 'undetermined', 'not_observed')) AS others,
       count(*) FILTER (WHERE verdict = 'retired') AS retired
FROM deploy(:at, :as_of) WHERE current
GROUP BY engine, version, commit_id, image_digest
ORDER BY engine, version, commit_id, image_digest
