/* SPDX-License-Identifier: Apache-2.0 */
/* vllm_patterns.h - the line shapes of vLLM that are read, each with its sample
 *
 * Included by vllm.c only. Order counts: the bulk first. Samples are our own, written from the grammar.
 */
#pragma once

#include "pagetrail/parser.h"

#define NUMBER(name) "(?<" name ">[0-9]+(?:,[0-9]{3})*)"
#define ID           "(?<id>\\S{1,1000}?)"

static int take_lmcache(struct parse *p, const struct match *m, struct text message);

static const struct line_pattern patterns[] = {
    {
	.name = "stats",
	.starts = "Engine 0",
	.sample = "Engine 000: Avg prompt throughput: 401.7 tokens/s, Avg generation throughput: 1185.5 tokens/s, "
		  "Running: 15 "
		  "reqs, Waiting: 0 reqs, GPU KV cache usage: 9.7%, Prefix cache hit rate: 99.5%",
	.take = take_stats,
    },
    {
	.name = "stats_v0",
	.starts = "Avg prompt throughput: ",
	.sample = "Avg prompt throughput: 10.2 tokens/s, Avg generation throughput: 5.0 tokens/s, Running: 1 reqs, "
		  "Swapped: 0 "
		  "reqs, Pending: 0 reqs, GPU KV cache usage: 0.1%, CPU KV cache usage: 0.0%.",
	.take = take_stats,
    },
    {
	.name = "received",
	.starts = "Received request ",
	.sample = "Received request chatcmpl-8c24fecc6f854a3e: params: SamplingParams(n=1, max_tokens=16), "
		  "lora_request: None.",
	.take = take_received,
    },
    {
	.name = "added",
	.starts = "Added request ",
	.sample = "Added request chatcmpl-8c24fecc6f854a3e-873d5034.",
	.take = take_added,
    },
    {
	.name = "request",
	.starts = "Request ",
	.sample = "Request cmpl-6709d8795d3c4464-0 failed (bad request): The decoder prompt (length 700001) is longer "
		  "than the "
		  "maximum model length of 681280.",
	.take = take_request,
    },
    {
	.name = "generated",
	.starts = "Generated response ",
	.sample = "Generated response chatcmpl-8c24fecc6f854a3e (streaming complete): output: 'x', finish_reason: stop",
	.take = take_generated,
    },
    {
	.name = "finished",
	.starts = "Finished request ",
	.sample = "Finished request cmpl-6709d8795d3c4464-0.",
	.take = take_finished,
    },
    {
	.name = "aborted",
	.starts = "Aborted request",
	.regex = "^Aborted\\x20request(?:\\(s\\))?\\x20\\S",
	.sample = "Aborted request(s) chatcmpl-8c24fecc6f854a3e-873d5034,chatcmpl-77aa00bb11cc22dd-0f0f0f0f.",
	.take = take_aborted,
    },
    {
	.name = "preempted",
	.starts = "Sequence group ",
	.regex = "^Sequence\\x20group\\x20" ID "\\x20is\\x20preempted\\x20by\\x20",
	.sample =
	    "Sequence group cmpl-6709d8795d3c4464-0 is preempted by PreemptionMode.RECOMPUTE mode because there is not "
	    "enough KV cache space. total_num_cumulative_preemption=1",
	.take = take_preempted,
    },
    {
	.name = "lmcache",
	.starts = "Reqid: ",
	.sample = "Reqid: cmpl-6709d8795d3c4464-0, Total tokens 8210, LMCache hit tokens: 8192, need to load: 128",
	.take = take_lmcache,
    },
    {
	.name = "context_length",
	.starts = "This model's maximum context length is ",
	.sample = "This model's maximum context length is 8192 tokens. However, you requested 512 output tokens and "
		  "your prompt "
		  "contains at least 7681 input tokens, for a total of at least 8193 tokens.",
	.take = take_refusal,
    },
    {
	.name = "prompt_too_long",
	.starts = "The ",
	.regex = "^The\\x20(?:decoder\\x20|encoder\\x20)?prompt\\x20\\((?:total\\x20)?length\\x20[0-9]",
	.sample = "The decoder prompt (length 700001) is longer than the maximum model length of 681280.",
	.take = take_refusal,
    },
    {
	.name = "prompt_length",
	.starts = "Prompt length of ",
	.sample = "Prompt length of 700001 is longer than the maximum model length of 681280.",
	.take = take_refusal,
    },
    {
	.name = "input_length",
	.starts = "Input length (",
	.sample = "Input length (700001) exceeds model's maximum context length (681280).",
	.take = take_refusal,
    },
    {
	.name = "input_prompt",
	.starts = "Input prompt (",
	.sample = "Input prompt (700001 tokens) is too long and exceeds limit of 681280",
	.take = take_refusal,
    },
    {
	.name = "max_tokens_too_large",
	.starts = "'max_tokens' or 'max_completion_tokens' is too large: ",
	.sample = "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is "
		  "4096 tokens "
		  "and your request has 200 input tokens (5000 > 4096 - 200).",
	.take = take_refusal,
    },
    {
	.name = "late_read",
	.starts = "Potentially invalid KV blocks for ",
	.regex = "unrecognized\\x20request\\x20" ID "\\x20were\\x20retrieved",
	.sample = "Potentially invalid KV blocks for unrecognized request chatcmpl-8f07dfc0a1b2c3d4-a2f0e657 were "
		  "retrieved by a "
		  "decode worker. They may have expired.",
	.take = take_late_read,
    },
    {
	.name = "expired",
	.starts = "Releasing expired KV blocks for request ",
	.regex = "for\\x20request\\x20" ID "\\x20which\\x20were\\x20retrieved\\x20by\\x20[0-9]+",
	.sample = "Releasing expired KV blocks for request chatcmpl-8f07dfc0a1b2c3d4-a2f0e657 which were retrieved by "
		  "0 remote "
		  "worker(s) before lease expired.",
	.take = take_expired,
    },
    {
	.name = "declined",
	.starts = "Declining expired remote read for ",
	.regex = "read\\x20for\\x20" ID "\\x20from\\x20engine\\x20",
	.sample = "Declining expired remote read for chatcmpl-8f07dfc0a1b2c3d4-a2f0e657 from engine "
		  "2ef84114-0000-4000-8000-000000000002.",
	.take = take_sends,
    },
    {
	.name = "engine_id",
	.starts = "Initializing NIXL Scheduler ",
	.regex = "^Initializing\\x20NIXL\\x20Scheduler\\x20(?<id>\\S{1,200})$",
	.sample = "Initializing NIXL Scheduler 2ef84114-0000-4000-8000-000000000002",
	.take = take_engine_id,
    },
    {
	.name = "nixl_failure",
	.starts = "NIXL transfer failure: ",
	.sample = "NIXL transfer failure: transfer_setup_failed. Marking blocks as invalid | Context: {'failure_type': "
		  "'transfer_setup_failed', 'request_id': 'chatcmpl-1-9f9f9f9f', 'num_local_blocks': 3}",
	.take = take_nixl_failure,
    },
    {
	.name = "load_failure",
	.starts = "Failing ",
	.regex = "^Failing\\x20[0-9]+\\x20request\\(s\\)\\x20due\\x20to\\x20KV\\x20load\\x20failure",
	.sample = "Failing 2 request(s) due to KV load failure (failure_policy=fail, 96 tokens affected). Request IDs: "
		  "{'cmpl-a-0', "
		  "'cmpl-b-0'}",
	.take = take_load_failure,
    },
    {
	.name = "rejected_there",
	.starts = "Failed to notify KV connector about rejected request ",
	.regex = "rejected\\x20request\\x20" ID "\\.?$",
	.sample = "Failed to notify KV connector about rejected request chatcmpl-8f07dfc0a1b2c3d4",
	.take = take_rejected_there,
    },
    {
	.name = "start_load",
	.starts = "start_load_kv for request ",
	.regex = "for\\x20request\\x20" ID "\\x20from\\x20remote\\x20engine\\x20",
	.sample = "start_load_kv for request cmpl-6709d8795d3c4464-0 from remote engine "
		  "2ef84114-0000-4000-8000-000000000002. Num "
		  "local_block_ids: 4. Num remote_block_ids: 4.",
	.take = take_loads,
    },
    {
	.name = "received_kv",
	.starts = "Finished recving KV transfer for request ",
	.regex = "for\\x20request\\x20" ID "$",
	.sample = "Finished recving KV transfer for request cmpl-6709d8795d3c4464-0",
	.take = take_loads,
    },
    {
	.name = "sent_kv",
	.starts = "Finished sending KV transfer for request ",
	.regex = "for\\x20request\\x20" ID "$",
	.sample = "Finished sending KV transfer for request cmpl-6709d8795d3c4464-0",
	.take = take_sends,
    },
    {
	.name = "read_blocks",
	.starts = "Remote agent ",
	.regex = "calling\\x20_read_blocks\\b.*\\x20for\\x20req\\x20" ID "$",
	.sample = "Remote agent 2ef84114-0000-4000-8000-000000000002 available, calling _read_blocks on remote rank 0 "
		  "with remote "
		  "block size 16 for req cmpl-6709d8795d3c4464-0",
	.take = take_loads,
    },
    {
	.name = "connector",
	.starts = "NIXLConnector ",
	.regex = "^NIXLConnector\\x20[a-z_]+(?:\\(" ID "\\))?"
		 "(?::|,\\x20request_status=(?:RequestStatus\\.)?FINISHED_(?<status>[A-Z_]+))",
	.sample = "NIXLConnector request_finished(cmpl-6709d8795d3c4464-0), request_status=FINISHED_LENGTH_CAPPED, "
		  "kv_transfer_params={'do_remote_decode': True}",
	.take = take_connector,
    },
    {
	.name = "dump",
	.starts = "Dumping scheduler output for model execution:",
	.sample = "Dumping scheduler output for model execution: "
		  "SchedulerOutput(scheduled_new_reqs=[NewRequestData(req_id=cmpl-a-0,"
		  "prompt_token_ids_len=5,block_ids=([17, 18],),num_computed_tokens=0)], finished_req_ids=[])",
	.take = take_dump,
    },
    {
	.name = "dump_alone",
	.starts = "SchedulerOutput(scheduled_new_reqs=",
	.sample = "SchedulerOutput(scheduled_new_reqs=[], scheduled_cached_reqs=[], finished_req_ids=['cmpl-a-0'])",
	.take = take_dump,
    },
    {
	.name = "config",
	.starts = "Initializing a",
	.regex = "^Initializing\\x20an?\\x20(?:V[01]\\x20)?LLM\\x20engine\\x20\\(v?(?<version>[^)\\x20]{1,80})\\)"
		 "\\x20with\\x20"
		 "config:\\x20",
	.sample = "Initializing a V1 LLM engine (v0.22.1) with config: model='acme/m-1t', max_seq_len=8192, "
		  "tensor_parallel_size=1",
	.take = take_config,
    },
    {
	.name = "version",
	.starts = "vLLM ",
	.regex = "^vLLM\\x20(?:API\\x20)?server\\x20version\\x20v?(?<version>[^,\\x20]{1,80})"
		 "(?:,\\x20serving\\x20model\\x20(?<model>\\S{1,300}))?$",
	.sample = "vLLM server version 0.27.0, serving model acme/m-1t",
	.take = take_version,
    },
    {
	.name = "args",
	.starts = "non-default args: {",
	.sample = "non-default args: {'model_tag': 'acme/m-1t', 'max_model_len': 8192}",
	.take = take_args,
    },
    {
	.name = "args_namespace",
	.starts = "args: Namespace(",
	.sample = "args: Namespace(host=None, port=8000, model='acme/m-1t', max_model_len=4096)",
	.take = take_args,
    },
    {
	.name = "pool",
	.starts = "GPU KV cache size: ",
	.regex = "^GPU\\x20KV\\x20cache\\x20size:\\x20" NUMBER(
	    "tokens") "\\x20tokens(?:,\\x20Maximum\\x20concurrency\\x20for\\x20" NUMBER("context") "\\x20tokens)?",
	.sample = "GPU KV cache size: 681,280 tokens, Maximum concurrency for 1,048,576 tokens per request: 0.65x",
	.take = take_pool,
    },
    {
	.name = "concurrency",
	.starts = "Maximum concurrency for ",
	.regex = "^Maximum\\x20concurrency\\x20for\\x20" NUMBER("context") "\\x20tokens\\x20per\\x20request",
	.sample = "Maximum concurrency for 131,072 tokens per request: 5.20x",
	.take = take_pool,
    },
    {
	.name = "blocks",
	.starts = "# ",
	.regex = "^\\#\\x20[A-Za-z]+\\x20blocks:\\x20" NUMBER("blocks") ",\\x20\\#\\x20CPU\\x20blocks:\\x20",
	.sample = "# GPU blocks: 42580, # CPU blocks: 2048",
	.take = take_blocks,
    },
    {
	.name = "ready",
	.starts = "Starting vLLM ",
	.regex = "^Starting\\x20vLLM\\x20(?:API\\x20)?server\\x20(?:[0-9]+\\x20)?on\\x20https?://\\[?(?<host>[^/"
		 "\\x20]+?)\\]?:"
		 "(?<port>[0-9]{1,5})\\b",
	.sample = "Starting vLLM API server 0 on http://0.0.0.0:8000",
	.take = take_ready,
    },
    {
	.name = "listening",
	.starts = "Uvicorn running on ",
	.regex = "https?://\\[?(?<host>[^/\\x20]+?)\\]?:(?<port>[0-9]{1,5})\\b",
	.sample = "Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)",
	.take = take_ready,
    },
    {
	.name = "startup",
	.starts = "Application startup complete.",
	.sample = "Application startup complete.",
	.take = take_ready,
    },
    {
	.name = "never_served",
	.starts = "To serve at least one request with the model",
	.sample = "To serve at least one request with the models's max seq len (1048576), (24.00 GiB KV cache is "
		  "needed, which is "
		  "larger than the available KV cache memory (15.60 GiB).",
	.take = take_stop,
    },
    {
	.name = "fatal",
	.starts = "EngineCore ",
	.regex = "^EngineCore\\x20(?:encountered\\x20a\\x20fatal\\x20error|failed\\x20to\\x20start)",
	.sample = "EngineCore encountered a fatal error.",
	.take = take_stop,
    },
    {
	.name = "engine_died",
	.starts = "Engine core ",
	.regex = "\\bdied\\x20unexpectedly",
	.sample = "Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.",
	.take = take_stop,
    },
    {
	.name = "worker_died",
	.starts = "Worker proc ",
	.regex = "\\bdied\\x20unexpectedly",
	.sample = "Worker proc VllmWorker-0 died unexpectedly, shutting down executor.",
	.take = take_stop,
    },
    {
	.name = "shutting_down",
	.starts = "Shutting down",
	.regex = "^Shutting\\x20down(?:$|\\x20FastAPI)",
	.sample = "Shutting down FastAPI HTTP server.",
	.take = take_stop,
    },
    {
	.name = "shutdown",
	.starts = "Application shutdown complete.",
	.sample = "Application shutdown complete.",
	.take = take_stop,
    },
    {
	.name = "process_finished",
	.starts = "Finished server process",
	.sample = "Finished server process [1]",
	.take = take_stop,
    },
};
