#pragma once
// Packs the texts of any data set as shards of token ids.

#include "pipeline/base/config/config.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/tools/pack/pack.h"

namespace flowtrain {

/// Writes `out`/train and `out`/val, whose texts are encoded by `options.tokens`: the shards, tokens.json (their
/// number, documents, ids, bytes of text; the file of the tokenizer and its checksum), a copy of the tokenizer, and for
/// each shard the records that were left out, if there were any. Until a split is complete, its folder is called
/// <split>.unfinished; the same call continues it, whatever stopped the one before, and the bytes are those of a
/// packing that was never stopped. A complete split of the same call is left as it is. Prints a line for each split on
/// standard output. Returns the exit code: 0, or that of an interruption. Throws UserError: usage for `out`, for the
/// part and for the end of a text, data for data sets and tokenizers that cannot be opened and as data.bad and
/// data.max_bad say, snapshot for disks.
int pack_tokens(const Config& config, const PackOptions& options, Interrupt& interrupt);

}  // namespace flowtrain
