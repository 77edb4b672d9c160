#pragma once
// The tokenizer that `flowtrain pack --tokens` keeps beside shards of tokens.

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Returns the tokenizer that is kept beside the shards of a data set of tokens, in the folder of a split: a file, or
/// "bytes". Empty for other data sets, for shards on a server, and if there is none.
std::string kept_tokenizer(const Settings& data);

/// Returns the id that ends each document of the shards of a data set of tokens, by their totals beside them; nothing
/// for other data sets, for shards on a server, and if there is none.
std::optional<std::uint32_t> kept_end(const Settings& data);

/// Checks the [[field]]s that are made of stored ids. Their tokenizer must be the one that made the ids, where that is
/// kept beside them: other bytes of a file may stand for the same tokens. Windows have the ids that end documents, so
/// none is put after them. Throws UserError(usage) of the key `tokenizer`, where an id is another token or none, or
/// `end`.
void check_stored_ids(const Config& config, bool training);

}  // namespace flowtrain
