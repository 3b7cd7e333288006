-- SPDX-License-Identifier: Apache-2.0
-- clocks: clock offsets
-- question: How was each source's time brought to UTC, and how sure is that?
-- column: source integer -  source
-- column: path text -  as given
-- column: worker text -  whose log it is
-- column: offset_s real s  subtracted from its times
-- column: bound_s real s  at most so wrong; none: no bound known
-- column: basis text -  what it rests on
-- order:  source
-- empty:  no source with times was ingested
SELECT c.source, s.path, s.worker, c.offset_ns / 1e9 AS offset_s, c.bound_ns / 1e9 AS bound_s, c.basis
FROM clock c JOIN source s USING(source)
ORDER BY c.source
