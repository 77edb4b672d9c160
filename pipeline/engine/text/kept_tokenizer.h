#pragma once
// The tokenizer that `flowtrain pack --tokens` keeps beside shards of tokens.

#include <string>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Returns the tokenizer that is kept beside the shards of a data set of tokens, in the folder of a split: a file, or
/// "bytes". Empty for other data sets, for shards on a server, and if there is none.
std::string kept_tokenizer(const Settings& data);

/// Compares the tokenizers of [[field]]s with the one that the stored ids were made by, where that is kept beside them.
/// Other bytes of a file may stand for the same tokens. Throws the error of the key `tokenizer` if an id is another
/// token, or none.
void check_kept_tokenizer(const Config& config, bool training);

}  // namespace flowtrain
