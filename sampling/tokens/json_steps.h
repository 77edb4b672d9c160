#pragma once
// The steps around a model in a tokenizer.json.

#include "sampling/tokens/json_place.h"
#include "sampling/tokens/piece_tokenizer.h"

namespace flowtrain {

/// Adds the steps of "normalizer".
void read_normalizer(const JsonPlace& place, Normalizer& normalizer);
/// Adds the steps of "pre_tokenizer"; returns whether words are bytes in GPT-2's alphabet from then on.
bool read_splitter(const JsonPlace& place, Splitter& splitter);
/// Reads the ids that "post_processor" puts around a text and around two.
void read_post_processor(const JsonPlace& place, TokenizerParts& parts);
/// Makes texts of the names, as "decoder" says.
void read_decoder(const JsonPlace& place, TokenizerParts& parts);

}  // namespace flowtrain
