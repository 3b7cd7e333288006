-- SPDX-License-Identifier: Apache-2.0
-- replay: whose pages a request was most likely given, by a model of the allocator
-- question: Without a page log: which earlier requests' content most likely lay in the pages that an over-long prompt was given?
-- param:  :request text -  only this request: its number, or anything that the logs call it
-- column: reader_request text -  whose prompt did not arrive
-- column: reader_tenant text -  its tenant
-- column: owner_request text -  who filled these pages last, by the model; none: nobody since the boot, or not replayed
-- column: owner_tenant text -  its tenant
-- column: cross_tenant tri -  are the tenants different?
-- column: pages integer pages  modelled
-- column: tokens_at_most integer tokens  pages times page size
-- column: share real per cent  of all pages that the reader did not fill
-- column: read_at time ns  start of the reader's leg
-- column: worker text -  decode worker
-- column: boot integer -  its boot
-- column: grade text -  modelled: never observed
-- column: trust text -  whole; in_part: records are missing, or of legs before it length or time is not known
-- column: unplaced integer legs  legs before it that the model could not place as they were, or that are missing
-- column: agreement real per cent  of the pages of this boot, where a page log can be compared with
-- column: compared integer requests  readers that it rests on
-- column: model text -  engine, mode and versions that it is of
-- column: assumptions text -  what it takes for granted; or why this request is not replayed
-- column: refs json -  records of the reader's leg
-- order:  read_at, worker, reader_request, pages, owner_request
-- empty:  no request is known of which the prompt did not arrive on a decode worker
SELECT reader_request, reader_tenant, owner_request, owner_tenant, cross_tenant, pages, tokens_at_most, share, read_at,
       worker, boot, grade, trust, unplaced, agreement, compared, model, assumptions, refs
FROM replay(:request)
ORDER BY read_at, worker, reader_request, pages DESC, owner_request, reader_id, owner_id
