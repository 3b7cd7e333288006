/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - which earlier requests' pages a request was most likely given: a decode worker's allocator, run again from
 * the records of its legs alone (grade `modelled`; docs/method.md, "Replay")
 *
 * The model "sglang-pd-sorted" is SGLang's pool of a worker with --disaggregation-mode decode. Read in its sources:
 *   sgl-project/sglang python/sglang/srt/mem_cache/allocator.py at 02e29cb18a, the same file in copies of 0.5.2 and 0.5.9
 *     (Kurt232/rlkv-sglang-v0.5.2 at 503c6b1281, 40349/sglang-v.0.5.9 at bc2873739c), and allocator/paged.py at
 *     0122d6f631 (after pull request 37146 of 2026-08-30, which keeps what is released in pieces and sorts it the same):
 *     pages 1 … size/page_size are free in this order, page 0 is padding. alloc(), alloc_extend() and alloc_decode()
 *     take from the front. With need_sort, free() puts pages aside; they are merged and sorted into the free list when
 *     it runs short (pull request 8133 of 2025-07): for a prompt when tokens / page_size + 2 is more than it holds, for
 *     a step of decoding when it holds too few. TokenToKVPoolAllocator (page size 1) does the same with tokens.
 *   python/sglang/srt/model_executor/model_runner_kv_cache_mixin.py at 226149ac45: need_sort = disaggregation_mode in
 *     (decode, prefill); pools with sliding windows or of other devices have allocators of their own.
 *   python/sglang/srt/disaggregation/decode.py at 0035ca42c2: pages of the whole prompt are taken when prefill is ready
 *     to send, in order of arrival, while prompt + R <= available - R for each active request (R =
 *     num_reserved_decode_tokens, 512 by default). What arrives goes into them; each step of decoding takes a page when
 *     the last one is full.
 *   server_args.py: a decode worker keeps no prefix cache ("KV cache is forced as chunk cache for decode server") unless
 *     it is told to, so a request gives all pages back when it ends; content stays in them.
 * A pure function of its arguments; private to src/analysis.
 */
#pragma once

#include "lineage.h"

#define REPLAY_MODEL           "sglang-pd-sorted 0.5.2-0.5.22"
#define REPLAY_RESERVED_TOKENS 512

struct pool_leg {
	int64_t start_ns, decode_ns, end_ns; /* it asked for pages; its first token; it gave them back */
	uint64_t prompt, output;             /* tokens */
	uint64_t arrived; /* tokens of the prompt that filled its pages; the others keep their content */
	uint32_t owner;   /* whose content it brings; not 0, one number for all legs of a request */
	bool reads;       /* what its other pages held is asked */
	bool placed;      /* out: the model gave it its pages */
	uint64_t foreign; /* out, of a reader: pages that it did not fill */
};

struct pool_share {          /* of a reader's pages that it did not fill: whose content they held */
	uint32_t leg, owner; /* index of the leg; 0: nobody's since the boot */
	uint64_t pages;
};

struct pool_replay {
	struct pool_share *shares; /* by leg's start, then owner */
	size_t n, cap;
	uint64_t retracted; /* steps of decoding that found no page: the engine would have taken somebody's back */
	bool too_long;      /* it was given up: too many pages */
};

struct pool_model {
	uint32_t pool_pages, page_size;
	uint64_t work_max; /* 0: REPLAY_WORK_MAX */
};
/* legs: of one boot, by start. Memory: 4.25 bytes a page of the pool, and what live legs hold. stop may be NULL. */
int pool_replay(struct pool_replay *ret, const struct pool_model *model, struct pool_leg *legs, size_t n,
		bool (*stop)(const void *ctx), const void *ctx, struct err *err) MUST_CHECK;
void pool_replay_done(struct pool_replay *r);
