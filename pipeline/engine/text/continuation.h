#pragma once
// Continues texts with a net.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/engine/text/text_form.h"
#include "sampling/tokens/next_token.h"
#include "stages/model/text_model.h"

namespace flowtrain {

/// The rules by which texts are continued.
struct ContinuationRules {
  TokenChoice choice = {};
  std::uint64_t seed = 0;
  std::size_t most_tokens = 200;       ///< at least 1
  std::vector<std::string> stop = {};  ///< texts that end a continuation, and are left out of it
};

/// A text to continue.
struct Prompt {
  std::uint32_t number = 0;               ///< the key of its draws
  std::vector<std::int64_t> tokens = {};  ///< at least one; see TextForm::encode()
};

/// The continuation of a prompt.
struct Continuation {
  std::string text = {};
  std::size_t tokens = 0;  ///< tokens that the net made, with the one that ended the text
  bool stopped = false;    ///< ended by such a token or a stop text; else by most_tokens
  bool cut = false;        ///< the prompt was longer than the net takes: only its end counted
  double seconds = 0;      ///< until its group had ended
};

/// Receives a piece of the text of the prompt at `index`: whole characters, unless the text itself has others. The last
/// piece of each text may be empty.
using TakePiece = std::function<void(std::size_t index, std::string_view piece, bool last)>;

/// Throws UserError(usage) if the net knows fewer ids than the tokenizer, or other ones than a guessed tokenizer.
void check_vocabulary(const TextModel& model, const TextForm& form);

/// Continues the prompts; those with equally many tokens are computed together, `most_rows` at most. The next token
/// follows from the last length() tokens of prompt and text. Draws depend on the numbers of prompt and token, so that
/// a text does not depend on the others, but for the rounding of the net. `take` (may be null) gets the texts as they
/// are made. Throws UserError(usage) for a net with fewer ids than the tokenizer, UserError(numerics) for logits that
/// are not finite.
std::vector<Continuation> continue_prompts(TextModel& model, const TextForm& form, const ContinuationRules& rules,
                                           const std::vector<Prompt>& prompts, const TakePiece& take = {},
                                           std::size_t most_rows = 32);

}  // namespace flowtrain
