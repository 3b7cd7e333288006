-- SPDX-License-Identifier: Apache-2.0
-- deploy_unread: files that may say what runs, and were not understood
-- question: Which files of evidence were cut, contradict themselves, or are of a form that is not read?
-- column: path text -  the file
-- column: worker text -  replica that it is of; none: it names its replicas itself, or nobody
-- column: format text -  none: not recognised
-- column: unparsed integer records  records of it that were not understood
-- column: reasons json -  why: json_syntax is also said of a document that was cut
-- column: refs json -  records that were not understood: the first eight
-- order:  path
-- empty:  every document about what runs was read whole, and every file was recognised; lines of logs are not counted here
SELECT s.path, s.worker, s.format, s.unparsed,
       (SELECT json_group_array(reason) FROM (SELECT DISTINCT reason FROM reject r WHERE r.source = s.source ORDER BY reason)) AS reasons,
       (SELECT json_group_array('S' || source || '@' || byte_off || '+' || byte_len)
        FROM (SELECT * FROM reject r WHERE r.source = s.source ORDER BY byte_off, reason LIMIT 8)) AS refs
FROM source s
WHERE s.status IN ('unrecognised', 'failed')
      -- a document of a format that says what is installed, or what a process is
      OR (s.unparsed > 0 AND json_valid(s.format_basis)
          AND EXISTS (SELECT 1 FROM json_each(s.format_basis, '$.document') WHERE value IN ('install', 'boot')))
ORDER BY s.path, s.source
