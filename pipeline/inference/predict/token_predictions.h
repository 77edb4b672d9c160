#pragma once
// The predictions of nets that classify tokens: the tags of words, and the tokens that a model of language expects.

#include <cstddef>
#include <optional>
#include <span>

#include "pipeline/inference/predict/prediction.h"
#include "sampling/sampler.h"
#include "stages/loader/slab.h"
#include "stages/model/class_predictor.h"

namespace flowtrain {

/// Returns the field of rows, i64 (length), whose values a net of tokens predicts: `label`, or without one `tokens`.
/// Returns nothing for rows of other nets.
std::optional<std::size_t> token_field_of(std::span<const Field> fields);

/// Adds the classes of a row's tokens: of the first token of each word where the row has words (words_field), else of
/// those with a label, or without labels of all. Texts, names and the line of all are those of Field::show. Throws
/// UserError(usage) if the logits have another length than the field.
void add_tokens(const Slab& slab, std::size_t row, std::size_t field, const Logits& logits, Prediction& prediction);

}  // namespace flowtrain
