-- SPDX-License-Identifier: Apache-2.0
-- cache_streams: KV cache events, and what is missing of them
-- question: Which prefix caches reported, from when to when, and how many of their messages are lost?
-- scan:   allowed
-- column: source integer -  source
-- column: worker text -  worker that the records name, else the one of the source
-- column: topic text -  topic, if one was recorded
-- column: rank integer -  data-parallel rank
-- column: first_at time ns  first time stamp
-- column: last_at time ns  last time stamp
-- column: messages integer messages  numbered messages read (of Dynamo: events)
-- column: stored integer blocks  blocks reported as stored
-- column: removed integer blocks  blocks reported as removed
-- column: clears integer events  times that all blocks were reported gone
-- column: backwards integer -  times that the number did not rise: a restart, or a message twice
-- column: missing integer messages  numbers left out, at least
-- order:  source, worker, topic, rank
-- empty:  no KV cache events were ingested; none is needed for any other answer
WITH message AS (
  SELECT source, worker, topic, rank, byte_off, coalesce(seq, event_id) AS n, min(at_ns) AS from_ns, max(at_ns) AS to_ns,
         sum(what = 'stored' AND block IS NOT NULL) AS stored, sum(what = 'removed' AND block IS NOT NULL) AS removed,
         sum(what = 'cleared') AS clears
  FROM cache_events GROUP BY source, worker, topic, rank, byte_off, coalesce(seq, event_id)),
follow AS (
  SELECT *, lag(n) OVER (PARTITION BY source, worker, topic, rank ORDER BY byte_off, n) AS before FROM message)
SELECT source, worker, topic, rank, min(from_ns) AS first_at, max(to_ns) AS last_at, count(n) AS messages,
       sum(stored) AS stored, sum(removed) AS removed, sum(clears) AS clears,
       coalesce(sum(n <= before), 0) AS backwards,
       CAST(min(total(CASE WHEN n > before + 1 THEN n - before - 1 END), 9e15) AS INTEGER) AS missing
FROM follow
GROUP BY source, worker, topic, rank
ORDER BY source, worker, topic, rank
