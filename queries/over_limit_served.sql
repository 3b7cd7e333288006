-- SPDX-License-Identifier: Apache-2.0
-- over_limit_served: prompts at or over the limit that were answered
-- question: Which prompts reached the input limit of the prefill boot that served them, and were answered all the same?
-- column: request text -  name of the request
-- column: tenant text -  who received the response
-- column: model text -  model asked for
-- column: status integer -  HTTP status
-- column: prompt_tokens integer tokens  length of the prompt
-- column: prompt_tokens_flag text -  exact, at_least or estimate
-- column: input_limit integer tokens  length at which that boot rejects
-- column: decode_limit integer tokens  input limit of the boot that answered; none: never logged
-- column: pool_tokens integer tokens  KV pool of the prefill boot that served it
-- column: band text -  over_pool, boundary (limit to pool), under, unknown
-- column: prefill_worker text -  worker of the prefill leg
-- column: decode_worker text -  worker of the leg that answered
-- column: started_at time ns  request began
-- column: delivered tri -  did at least one byte or token of content leave?
-- column: class text -  C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 not determined
-- column: reasons json -  stable codes, see docs/method.md
-- column: refs json -  records that this rests on
-- order:  started_at, request
-- empty:  no answered prompt is known to have reached its boot's input limit; unknown lengths and limits are not excluded
SELECT request, tenant, model, status, prompt_tokens, prompt_tokens_flag, input_limit, decode_limit, pool_tokens, band,
       prefill_worker, decode_worker, started_at, delivered, class, reasons, refs
FROM findings()
WHERE t = 'yes' AND d <> 'no' AND instr(reasons, '"prompt_at_or_over_limit"') > 0
ORDER BY started_at, request, response_id
