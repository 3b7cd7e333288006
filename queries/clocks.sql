-- SPDX-License-Identifier: Apache-2.0
-- clocks: clock offsets
-- question: How was each source's time brought to UTC, and how sure is that?
-- column: source integer -  source
-- column: path text -  as given
-- column: worker text -  whose log it is
-- column: from time ns  since when; none: from its beginning
-- column: offset_s real s  subtracted from its times
-- column: skew_s real s  what of it is the clock's own error
-- column: bound_s real s  at most so wrong; none: no bound known
-- column: basis text -  what it rests on
-- order:  source, from
-- empty:  no source with times was ingested
SELECT c.source, s.path, s.worker, c.from_ns AS "from", c.offset_ns / 1e9 AS offset_s, c.skew_ns / 1e9 AS skew_s, c.bound_ns / 1e9 AS bound_s, c.basis
FROM clock c JOIN source s USING(source)
ORDER BY c.source, c.from_off
