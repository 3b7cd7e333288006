-- SPDX-License-Identifier: Apache-2.0
-- handoff_mismatch: prefill refused or saw one token, decode went on
-- question: In which requests did the prefill leg refuse or see one token while the decode leg of the same room worked on many?
-- column: request text -  name of the request
-- column: tenant text -  who received the response
-- column: room text -  bootstrap_room that joins the legs
-- column: prefill_tokens integer tokens  what the prefill leg worked on
-- column: prefill_outcome text -  how it ended
-- column: decode_tokens integer tokens  what the decode leg worked on
-- column: decode_outcome text -  how it ended
-- column: output_tokens integer tokens  what the decode leg generated
-- column: prefill_worker text -  worker of the prefill leg
-- column: decode_worker text -  worker of the leg that answered
-- column: started_at time ns  request began
-- column: delivered tri -  did at least one byte or token of content leave?
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined
-- column: refs json -  records that this rests on
-- order:  started_at, request
-- empty:  no pair of legs contradicts itself; a leg that was not logged cannot be compared
SELECT f.request, f.tenant, f.room, p.input_tokens AS prefill_tokens, p.outcome AS prefill_outcome,
       d.input_tokens AS decode_tokens, d.outcome AS decode_outcome, d.output_tokens, f.prefill_worker,
       f.decode_worker, f.started_at, f.delivered, f.class, f.refs
FROM findings() f LEFT JOIN leg p ON p.leg = f.prefill_leg LEFT JOIN leg d ON d.leg = f.decode_leg
WHERE instr(f.reasons, '"handoff_mismatch"') > 0
ORDER BY f.started_at, f.request, f.response_id
